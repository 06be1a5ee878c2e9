"""Stand-ins for systems that tests cannot have: each speaks the public protocol of the real one."""
