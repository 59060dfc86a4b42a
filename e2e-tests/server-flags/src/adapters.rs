//! For each type of adapter a configuration that every release with that type accepts.

use serde_json::{Value, json};

/// The configuration without its `type`; `None` for a type that is not known here.
pub fn config(name: &str) -> Option<Value> {
    Some(match name {
        "aerospike" => json!({"hosts": "aerospike.storage:3000"}),
        "bigtable" => json!({
            "bigtable_project_id": "project", "bigtable_instance_id": "instance", "bigtable_table_name": "kv",
        }),
        "dax" => json!({"device_path": "/dev/dax0.0", "max_dax_size_gb": 16, "slot_bytes": 1_048_576}),
        "fault_inject" => json!({"inner": {"type": "mock", "max_size_gb": 1, "mock_bandwidth_gb": 1}}),
        "fs" | "fs_native" => json!({"base_path": "/var/lib/lmcache"}),
        "hf3fs" => json!({"mount_point": "/mnt/3fs", "base_paths": "/mnt/3fs/kv"}),
        "hfbucket" => json!({"bucket_handle": "hf://buckets/team/kv"}),
        "mock" => json!({"max_size_gb": 1, "mock_bandwidth_gb": 10}),
        "mooncake_store" => json!({}),
        "nixl_native" => json!({"backend": "POSIX"}),
        "nixl_store" => json!({
            "backend": "GDS",
            "backend_params": {"file_path": "/mnt/kv", "use_direct_io": "false"},
            "pool_size": 64,
        }),
        "nixl_store_dynamic" => json!({
            "backend": "GDS",
            "backend_params": {"file_path": "/mnt/kv", "use_direct_io": "false", "max_capacity_gb": "64"},
        }),
        "p2p" => json!({
            "peer_mq_server_url": "tcp://peer:5555", "peer_transfer_channel_server_url": "tcp://peer:5600",
        }),
        "plugin" | "native_plugin" => json!({"module_path": "company.adapter", "class_name": "Adapter"}),
        "raw_block" => json!({"device_path": "/dev/nvme1n1", "slot_bytes": 1_048_576}),
        "resp" => json!({"host": "redis.storage", "port": 6379}),
        "s3" => json!({"s3_endpoint": "kv.s3.eu-central-1.amazonaws.com", "s3_region": "eu-central-1"}),
        "sagemaker-hyperpod" => json!({"url": "sagemaker-hyperpod://ai-toolkit.storage:9200"}),
        "valkey" => json!({"startup_nodes": "valkey-0.storage:6379,valkey-1.storage:6379"}),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use lmcache_server::table::ADAPTERS;

    use super::*;

    #[test]
    fn every_type_of_the_table_has_a_configuration_with_its_required_keys() {
        for adapter in &ADAPTERS {
            let config = config(adapter.name).unwrap_or_else(|| panic!("write a configuration for {}", adapter.name));
            for key in adapter.required {
                assert!(config.get(key).is_some(), "{}: {key}", adapter.name);
            }
        }
        assert_eq!(config("bogus"), None);
    }
}
