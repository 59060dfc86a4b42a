//! Enums whose variants are words that others read.

/// Defines an enum of words, with the list of all of them and the text of each. What lists the words, as documentation
/// does, can then not miss one.
#[macro_export]
macro_rules! words {
    ($(#[$about:meta])* pub enum $name:ident { $($(#[$meaning:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$meaning])* $variant,)+
        }

        impl $name {
            /// All of them.
            pub const ALL: [$name; [$($text),+].len()] = [$($name::$variant),+];

            /// The word.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)+
                }
            }
        }
    };
}
