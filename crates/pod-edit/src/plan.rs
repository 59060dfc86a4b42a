//! A change of a Pod as data.

use serde_json::Value;

use crate::args::{self, Flag};
use crate::{EditError, container, env, metadata, pod, tail, volume};

/// One edit. Containers are meant by their index in `spec.containers`.
#[derive(Debug, Clone, PartialEq)]
pub enum Edit {
    /// Sets an annotation, whatever it was.
    SetAnnotation {
        /// Its key, unescaped.
        key: String,
        /// Its new value.
        value: String,
    },
    /// Removes an annotation, if it is there.
    RemoveAnnotation {
        /// Its key, unescaped.
        key: String,
    },
    /// `spec.hostIPC: true`.
    SetHostIpc,
    /// `spec.enableServiceLinks: false` where it is unset. An explicit value of the user stands.
    DisableServiceLinks,
    /// Appends a volume. An equal one is left alone, another one of that name is an error.
    AppendVolume(Value),
    /// Appends an init container. One that does the same ([`pod::same_init_container`]) is left alone, another container
    /// of that name is an error.
    AppendInitContainer(Value),
    /// Appends the names that `spec.imagePullSecrets` does not have.
    AppendPullSecrets(Vec<String>),
    /// Appends a volume mount. One that does the same ([`volume::same_mount`]) is left alone, anything else at its path is
    /// an error.
    AppendMount {
        /// The container.
        container: usize,
        /// A `VolumeMount` with at least `name` and `mountPath`.
        mount: Value,
    },
    /// Appends a variable. An equal entry is left alone, another one of that name is an error.
    AppendEnv {
        /// The container.
        container: usize,
        /// An `EnvVar` with at least `name`.
        entry: Value,
    },
    /// Puts an entry in front of a colon-separated path variable, unless it is in it already.
    PrependPath {
        /// The container.
        container: usize,
        /// The variable, `PYTHONPATH` for instance.
        name: String,
        /// The path entry.
        entry: String,
    },
    /// Puts the last entries of a list into this order, as far as they are exactly these. Nothing in front of the first
    /// other entry moves. So that plans which append to one list after another, in whatever order, end with one result.
    OrderTail {
        /// The list.
        list: Tail,
        /// Entries in their order.
        order: Vec<Value>,
    },
    /// Appends words to the command line, unless they stand there already one after the other.
    AppendArgs {
        /// The container.
        container: usize,
        /// The words.
        tokens: Vec<String>,
    },
    /// Leaves exactly one occurrence of a flag, with this value. See [`args`].
    SetFlag {
        /// The container.
        container: usize,
        /// A flag that takes a value.
        flag: &'static Flag,
        /// Its value.
        value: String,
    },
    /// Leaves exactly one occurrence of an on/off flag or its opposites. See [`args`].
    SetSwitch {
        /// The container.
        container: usize,
        /// A flag of kind [`args::FlagKind::Switch`].
        flag: &'static Flag,
        /// `true` for the flag itself, `false` for its `--no-` form.
        on: bool,
    },
}

/// A list of the Pod that several plans append to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tail {
    /// `spec.volumes`
    Volumes,
    /// `volumeMounts` of a container.
    Mounts(usize),
    /// `env` of a container.
    Env(usize),
}

impl Edit {
    /// What the user wrote and this edit would remove or overwrite on the command line, as it stands there: `-pp 2`,
    /// `--enforce-eager=False`. Empty for other edits, and when the edit would change nothing or fail. For a warning that quotes it.
    pub fn replaces(&self, pod: &Value) -> Vec<String> {
        let (index, flag, wanted) = match self {
            Self::SetFlag { container, flag, value } => (*container, flag, args::Wanted::Value(value)),
            Self::SetSwitch { container, flag, on } => (*container, flag, args::Wanted::Switch(*on)),
            _ => return Vec::new(),
        };
        container::at(pod, index).map_or_else(|_| Vec::new(), |target| args::replaced_by(target, flag, wanted))
    }

    fn apply(&self, pod: &mut Value) -> Result<bool, EditError> {
        match self {
            Self::SetAnnotation { key, value } => metadata::set_annotation(pod, key, value),
            Self::RemoveAnnotation { key } => metadata::remove_annotation(pod, key),
            Self::SetHostIpc => pod::set_host_ipc(pod),
            Self::DisableServiceLinks => pod::disable_service_links(pod),
            Self::AppendVolume(volume) => volume::append_volume(pod, volume),
            Self::AppendInitContainer(container) => pod::append_init_container(pod, container),
            Self::AppendPullSecrets(names) => pod::append_pull_secrets(pod, names),
            Self::AppendMount { container, mount } => volume::append_mount(pod, *container, mount),
            Self::AppendEnv { container, entry } => env::append(pod, *container, entry),
            Self::PrependPath { container, name, entry } => env::prepend_path(pod, *container, name, entry),
            Self::OrderTail { list, order } => Ok(tail::order(pod, *list, order)),
            Self::AppendArgs { container, tokens } => args::append(pod, *container, tokens),
            Self::SetFlag { container, flag, value } => args::set(pod, *container, flag, args::Wanted::Value(value)),
            Self::SetSwitch { container, flag, on } => args::set(pod, *container, flag, args::Wanted::Switch(*on)),
        }
    }
}

/// Edits that are made together or not at all, in this order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    /// The edits. Later ones see what earlier ones did.
    pub edits: Vec<Edit>,
}

impl Plan {
    /// A plan that does nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an edit at the end.
    pub fn push(&mut self, edit: Edit) {
        self.edits.push(edit);
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// Applies all edits and says whether the Pod changed, or applies none and says why.
    ///
    /// # Errors
    ///
    /// The first edit that cannot be made, as an [`EditError`]. The Pod is then what it was before.
    pub fn apply(&self, pod: &mut Value) -> Result<bool, EditError> {
        if self.is_empty() {
            return Ok(false);
        }
        // Edits are tried on a copy: whether a later one fits depends on the earlier ones, and a Pod is at most a few
        // hundred kilobytes. That makes "all or nothing" true by construction.
        let mut edited = pod.clone();
        let mut changed = false;
        for edit in &self.edits {
            changed |= edit.apply(&mut edited)?;
        }
        // Edits of one plan may undo each other.
        let changed = changed && edited != *pod;
        if changed {
            *pod = edited;
        }
        Ok(changed)
    }

    /// Tries the edits on a copy.
    ///
    /// # Errors
    ///
    /// The index of the first edit that cannot be made, and why.
    pub fn check(&self, pod: &Value) -> Result<(), (usize, EditError)> {
        let mut copy = pod.clone();
        for (index, edit) in self.edits.iter().enumerate() {
            edit.apply(&mut copy).map_err(|error| (index, error))?;
        }
        Ok(())
    }

    /// What all edits together would take away from the user's command lines. See [`Edit::replaces`].
    pub fn replaces(&self, pod: &Value) -> Vec<String> {
        self.edits.iter().flat_map(|edit| edit.replaces(pod)).collect()
    }
}

impl From<Vec<Edit>> for Plan {
    fn from(edits: Vec<Edit>) -> Self {
        Self { edits }
    }
}

impl Extend<Edit> for Plan {
    fn extend<I: IntoIterator<Item = Edit>>(&mut self, edits: I) {
        self.edits.extend(edits);
    }
}
