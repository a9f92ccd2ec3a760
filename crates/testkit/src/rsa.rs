//! RSA keys and a user, for tests of the authentication of iperf3. The keys protect nothing.

/// Private key.
pub const PRIVATE: &str = include_str!("rsa/private.pem");
/// Its public key.
pub const PUBLIC: &str = include_str!("rsa/public.pem");
/// Public key of another pair.
pub const OTHER_PUBLIC: &str = include_str!("rsa/other-public.pem");
/// Private key with a passphrase.
pub const PROTECTED: &str = include_str!("rsa/protected.pem");
/// File of users: `user1` and `alice`, whose password is `secret`.
pub const USERS: &str = "\
# users
user1,f7c55f769c67866f336035b1e00178e6befd1bdd1bf48d2934befb775f97d7a1
alice,27b307f21eb6137ab56a3c80a93a5db840e79a697f80f3381c87edaa79a83f6f
";
