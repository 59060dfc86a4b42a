//! The command lines of `lmcache server` and `lmcache coordinator`, release by release.
//!
//! The releases of LMCache take different flags, know different words and behave differently once started. What an object
//! asks for is rendered for the release that runs, or refused with the reason:
//!
//! | Question | Answer |
//! |---|---|
//! | Which release runs? | [`Running`] |
//! | What is wrong with an object, by itself and for that release? | [`validate`] |
//! | What is legal but probably not meant? | [`warnings`] |
//! | Which command, arguments and environment does the container get? | [`process`] |
//! | What does the started process offer: ports, paths, metrics? | [`Offers`], [`CoordinatorOffers`] |
//! | Which flags does a release know? | [`table`] |
//! | How would the process read these arguments? | [`argparse`] |
//!
//! Everything is a pure function of its arguments: an admission policy, the controller and the offline renderer cannot
//! disagree.

mod adapter;
pub mod argparse;
mod check;
mod line;
mod number;
mod offers;
mod process;
mod release;
pub mod table;

pub use check::{validate, warnings};
pub use offers::{CoordinatorOffers, Metrics, Offers, Segment};
pub use process::{Place, Process, process};
pub use release::Running;
