//! `crds`: the CustomResourceDefinitions as YAML. `deploy/crds` holds what it prints.

use anyhow::Result;
use lmcache_api::Kind;
use lmcache_api::crd::definition;

/// Options of the command.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Kinds to print, in this order: LMCacheEngine, CacheBlendEngine, LMCacheCoordinator. Without any: all three.
    #[arg(value_name = "KIND")]
    kinds: Vec<Kind>,
}

/// The CRDs that were asked for, as YAML documents.
///
/// # Errors
/// Where a CRD cannot be written as YAML, which only a fault in the types could bring about.
pub fn run(args: &Args) -> Result<String> {
    let kinds = if args.kinds.is_empty() {
        Kind::ALL.as_slice()
    } else {
        &args.kinds
    };
    let documents: Result<Vec<String>> = kinds.iter().map(|kind| document(*kind)).collect();
    Ok(documents?.join("---\n"))
}

fn document(kind: Kind) -> Result<String> {
    let yaml = yaml_serde::to_string(&definition(kind))?;
    Ok(format!("# Written by `lmcache-controller crds {kind}`.\n{yaml}"))
}
