// The host functions that a waPC guest imports, for tests of pure code in Node: there is no host, and nothing calls it.
const absent = () => 0;
module.exports = {
  __console_log: absent,
  __guest_error: absent,
  __guest_request: absent,
  __guest_response: absent,
  __host_call: absent,
  __host_error: absent,
  __host_error_len: absent,
  __host_response: absent,
  __host_response_len: absent,
};
