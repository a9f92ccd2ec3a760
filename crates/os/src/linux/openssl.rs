//! RSA and SHA-256 of OpenSSL 3 (EVP_PKEY_encrypt(3), PEM_read_bio_PrivateKey(3), SHA256(3)).
//!
//! The library is loaded by [`OpenSsl::load`] (dlopen(3)). The programs are not linked with it, and
//! run without it.

use std::ffi::{CStr, CString, c_int, c_void};
use std::ptr::{self, NonNull};

use zeroize::Zeroizing;

/// File of the library; its name changes when its functions do.
const LIBRARY: &CStr = c"libcrypto.so.3";
/// `EVP_PKEY_RSA`.
const RSA: c_int = 6;
/// Bytes of a SHA-256 digest.
pub const SHA256: usize = 32;

/// Padding of a message, as `EVP_PKEY_CTX_set_rsa_padding` takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RsaPadding {
    /// PKCS #1 version 1.5 (`RSA_PKCS1_PADDING`).
    Pkcs1 = 1,
    /// OAEP with SHA-1, the default of OpenSSL (`RSA_PKCS1_OAEP_PADDING`).
    Oaep = 4,
}

/// Part of a pair of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RsaPart {
    /// It encrypts.
    Public,
    /// It decrypts.
    Private,
}

/// Failure of RSA.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RsaError {
    /// The library is missing, or lacks a function.
    #[error(
        "libcrypto.so.3 of OpenSSL 3 is missing ({0}): install it, on Debian with apt install libssl3"
    )]
    NoLibrary(String),
    /// This program cannot load libraries.
    #[error(
        "this program is linked statically and cannot load libcrypto.so.3: use that of a package"
    )]
    Static,
    /// The text has no key.
    #[error("no RSA key in PEM format: create a pair with openssl genrsa and openssl rsa -pubout")]
    NoKey,
    /// A public key where the private one is needed.
    #[error("this is a public key: use the private key of the pair")]
    PublicKey,
    /// A private key where the public one is needed.
    #[error("this is a private key: use the public key, from openssl rsa -pubout")]
    PrivateKey,
    /// The private key is encrypted.
    #[error("a passphrase protects the key: remove it with openssl rsa")]
    Protected,
    /// A key of another kind.
    #[error("the key is not an RSA key: create one with openssl genrsa")]
    NotRsa,
    /// The text does not fit into the key.
    #[error("{0} bytes are too many for an RSA key of {1} bits")]
    TooLong(usize, usize),
    /// The bytes are not a message of this key and padding.
    #[error("not encrypted with the public key of this private key, or with another padding")]
    Undecipherable,
}

/// Declares functions of the library, and how they are found.
macro_rules! functions {
    ($($name:ident = $symbol:literal ($($argument:ty),*) $(-> $result:ty)?;)*) => {
        #[derive(Clone, Copy)]
        struct Functions {
            $($name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Functions {
            fn of(library: NonNull<c_void>) -> Result<Self, RsaError> {
                Ok(Self {
                    $($name: {
                        let found = symbol(library, $symbol)?;
                        // SAFETY: the function has this type in all versions of libcrypto.so.3.
                        unsafe {
                            std::mem::transmute::<
                                NonNull<c_void>,
                                unsafe extern "C" fn($($argument),*) $(-> $result)?,
                            >(found)
                        }
                    },)*
                })
            }
        }
    };
}

functions! {
    memory_new = c"BIO_new_mem_buf" (*const c_void, c_int) -> *mut c_void;
    memory_free = c"BIO_free_all" (*mut c_void);
    read_public = c"PEM_read_bio_PUBKEY"
        (*mut c_void, *mut *mut c_void, *const c_void, *const c_void) -> *mut c_void;
    read_private = c"PEM_read_bio_PrivateKey"
        (*mut c_void, *mut *mut c_void, *const c_void, *const c_void) -> *mut c_void;
    key_free = c"EVP_PKEY_free" (*mut c_void);
    key_kind = c"EVP_PKEY_get_base_id" (*const c_void) -> c_int;
    key_size = c"EVP_PKEY_get_size" (*const c_void) -> c_int;
    context_new = c"EVP_PKEY_CTX_new" (*mut c_void, *mut c_void) -> *mut c_void;
    context_free = c"EVP_PKEY_CTX_free" (*mut c_void);
    set_padding = c"EVP_PKEY_CTX_set_rsa_padding" (*mut c_void, c_int) -> c_int;
    encrypt_init = c"EVP_PKEY_encrypt_init" (*mut c_void) -> c_int;
    encrypt = c"EVP_PKEY_encrypt" (*mut c_void, *mut u8, *mut usize, *const u8, usize) -> c_int;
    decrypt_init = c"EVP_PKEY_decrypt_init" (*mut c_void) -> c_int;
    decrypt = c"EVP_PKEY_decrypt" (*mut c_void, *mut u8, *mut usize, *const u8, usize) -> c_int;
    sha256 = c"SHA256" (*const u8, usize, *mut u8) -> *mut u8;
    clear_errors = c"ERR_clear_error" ();
}

type FreeObject = unsafe extern "C" fn(*mut c_void);
type StartCrypt = unsafe extern "C" fn(*mut c_void) -> c_int;
type Crypt = unsafe extern "C" fn(*mut c_void, *mut u8, *mut usize, *const u8, usize) -> c_int;

/// dlerror(3): the text of the last error.
fn last_error() -> String {
    // SAFETY: the call takes nothing.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "unknown error".to_owned();
    }
    // SAFETY: the text ends with a NUL and lives until the next call of this thread.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_string_lossy().into_owned()
}

/// dlsym(3).
fn symbol(library: NonNull<c_void>, name: &CStr) -> Result<NonNull<c_void>, RsaError> {
    // SAFETY: `library` was loaded and is never closed; the name ends with a NUL.
    let found = unsafe { libc::dlsym(library.as_ptr(), name.as_ptr()) };
    NonNull::new(found).ok_or_else(|| RsaError::NoLibrary(last_error()))
}

/// An object of the library, freed when dropped.
struct LibraryObject {
    at: NonNull<c_void>,
    free: FreeObject,
}

impl LibraryObject {
    fn new(at: *mut c_void, free: FreeObject) -> Option<Self> {
        NonNull::new(at).map(|at| Self { at, free })
    }
}

impl Drop for LibraryObject {
    fn drop(&mut self) {
        // SAFETY: this is the only owner, and the function frees objects of this kind. It wipes
        // private keys.
        unsafe { (self.free)(self.at.as_ptr()) }
    }
}

/// The library.
#[derive(Clone, Copy)]
pub struct OpenSsl(Functions);

impl std::fmt::Debug for OpenSsl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OpenSsl")
    }
}

impl OpenSsl {
    /// Loads the library, which stays until the process ends.
    ///
    /// # Errors
    /// `NoLibrary`, or `Static`.
    pub fn load() -> Result<Self, RsaError> {
        Self::load_file(LIBRARY)
    }

    fn load_file(name: &CStr) -> Result<Self, RsaError> {
        if cfg!(target_feature = "crt-static") {
            return Err(RsaError::Static);
        }
        let flags = libc::RTLD_NOW | libc::RTLD_LOCAL;
        // SAFETY: the name ends with a NUL. The initialiser of this library has no precondition.
        let library = unsafe { libc::dlopen(name.as_ptr(), flags) };
        let library = NonNull::new(library).ok_or_else(|| RsaError::NoLibrary(last_error()))?;
        Functions::of(library).map(Self)
    }

    /// The SHA-256 digest of these bytes.
    #[must_use]
    pub fn sha256(self, bytes: &[u8]) -> [u8; SHA256] {
        let mut digest = [0; SHA256];
        // SAFETY: pointer and length describe `bytes`; the digest has space for 32 bytes.
        unsafe { (self.0.sha256)(bytes.as_ptr(), bytes.len(), digest.as_mut_ptr()) };
        digest
    }

    /// Reads a key in PEM format.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn key(self, part: RsaPart, pem: &[u8]) -> Result<RsaKey, RsaError> {
        check_labels(part, pem)?;
        let read = match part {
            RsaPart::Public => self.0.read_public,
            RsaPart::Private => self.0.read_private,
        };
        let length = c_int::try_from(pem.len()).map_err(|_| RsaError::NoKey)?;
        // SAFETY: pointer and length describe `pem`, which outlives the object. It is only read.
        let memory = unsafe { (self.0.memory_new)(pem.as_ptr().cast(), length) };
        let memory = LibraryObject::new(memory, self.0.memory_free).ok_or(RsaError::NoKey)?;
        // With this in place of a callback, the library never prompts for a passphrase.
        let passphrase = CString::default();
        // SAFETY: the object is valid, null is permitted for the key and the callback, and then the
        // last argument is a passphrase that ends with a NUL.
        let key = unsafe {
            read(
                memory.at.as_ptr(),
                ptr::null_mut(),
                ptr::null(),
                passphrase.as_ptr().cast(),
            )
        };
        self.clear_errors();
        let key = LibraryObject::new(key, self.0.key_free).ok_or(RsaError::NoKey)?;
        // SAFETY: the key is valid.
        let kind = unsafe { (self.0.key_kind)(key.at.as_ptr()) };
        // SAFETY: the key is valid.
        let size = unsafe { (self.0.key_size)(key.at.as_ptr()) };
        if kind != RSA {
            return Err(RsaError::NotRsa);
        }
        Ok(RsaKey {
            library: self,
            key,
            size: usize::try_from(size).map_err(|_| RsaError::NotRsa)?,
        })
    }

    /// Forgets the errors of this thread.
    fn clear_errors(self) {
        // SAFETY: the call takes nothing.
        unsafe { (self.0.clear_errors)() }
    }
}

/// Looks at the labels of a PEM text, so that a wrong file is named as what it is.
fn check_labels(part: RsaPart, pem: &[u8]) -> Result<(), RsaError> {
    let text = std::str::from_utf8(pem).unwrap_or_default();
    let private = text.contains("PRIVATE KEY-----");
    let public = text.contains("PUBLIC KEY-----");
    match part {
        RsaPart::Private if private && text.contains("ENCRYPTED") => Err(RsaError::Protected),
        RsaPart::Private if !private && public => Err(RsaError::PublicKey),
        RsaPart::Public if private => Err(RsaError::PrivateKey),
        RsaPart::Private if private => Ok(()),
        RsaPart::Public if public => Ok(()),
        RsaPart::Private | RsaPart::Public => Err(RsaError::NoKey),
    }
}

/// A key.
pub struct RsaKey {
    library: OpenSsl,
    key: LibraryObject,
    /// Bytes of an encrypted message.
    size: usize,
}

impl std::fmt::Debug for RsaKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RsaKey({} bits)", 8 * self.size)
    }
}

impl RsaKey {
    /// Encrypts a text with the public key.
    ///
    /// # Errors
    /// `TooLong`.
    pub fn encrypt(&self, padding: RsaPadding, text: &[u8]) -> Result<Vec<u8>, RsaError> {
        let functions = self.library.0;
        let sealed = self.crypt((functions.encrypt_init, functions.encrypt), padding, text);
        let too_long = RsaError::TooLong(text.len(), 8 * self.size);
        sealed.map(|sealed| sealed.to_vec()).ok_or(too_long)
    }

    /// Decrypts a message with the private key.
    ///
    /// # Errors
    /// `Undecipherable`. Newer versions of the library return random bytes instead for PKCS #1.
    pub fn decrypt(
        &self,
        padding: RsaPadding,
        message: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, RsaError> {
        let functions = self.library.0;
        let calls = (functions.decrypt_init, functions.decrypt);
        let text = self.crypt(calls, padding, message);
        text.ok_or(RsaError::Undecipherable)
    }

    fn crypt(
        &self,
        (start, crypt): (StartCrypt, Crypt),
        padding: RsaPadding,
        input: &[u8],
    ) -> Option<Zeroizing<Vec<u8>>> {
        let functions = self.library.0;
        // SAFETY: the key is valid, and null is permitted for the engine.
        let context = unsafe { (functions.context_new)(self.key.at.as_ptr(), ptr::null_mut()) };
        let context = LibraryObject::new(context, functions.context_free)?;
        let at = context.at.as_ptr();
        // SAFETY: the context is valid.
        let mut done = unsafe { start(at) } > 0;
        // SAFETY: the context is valid, and has been started for this operation.
        done = done && unsafe { (functions.set_padding)(at, padding as c_int) } > 0;
        let mut output = Zeroizing::new(vec![0; self.size]);
        let mut length = output.len();
        let (to, from) = (output.as_mut_ptr(), input.as_ptr());
        // SAFETY: pointers and lengths describe `output`, which has space for any result of this
        // key, and `input`.
        done = done && unsafe { crypt(at, to, &raw mut length, from, input.len()) } > 0;
        self.library.clear_errors();
        output.truncate(length);
        done.then_some(output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRIVATE: &[u8] = include_bytes!("../../../testkit/src/rsa/private.pem");
    const PUBLIC: &[u8] = include_bytes!("../../../testkit/src/rsa/public.pem");
    const OTHER_PUBLIC: &[u8] = include_bytes!("../../../testkit/src/rsa/other-public.pem");
    const PROTECTED: &[u8] = include_bytes!("../../../testkit/src/rsa/protected.pem");
    const ELLIPTIC: [&[u8]; 2] = [
        include_bytes!("../../../testkit/src/rsa/elliptic-public.pem"),
        include_bytes!("../../../testkit/src/rsa/elliptic-private.pem"),
    ];

    fn library() -> OpenSsl {
        OpenSsl::load().expect("install Debian's libssl3")
    }

    #[test]
    fn rsa_decrypts_what_it_encrypted_with_each_padding() {
        let public = library().key(RsaPart::Public, PUBLIC).unwrap();
        let private = library().key(RsaPart::Private, PRIVATE).unwrap();
        for padding in [RsaPadding::Pkcs1, RsaPadding::Oaep] {
            let sealed = public.encrypt(padding, b"a text").unwrap();
            assert_eq!(sealed.len(), 256);
            assert_eq!(*private.decrypt(padding, &sealed).unwrap(), b"a text");
        }
    }

    #[test]
    fn rsa_refuses_messages_of_another_key_or_padding() {
        let private = library().key(RsaPart::Private, PRIVATE).unwrap();
        let other = library().key(RsaPart::Public, OTHER_PUBLIC).unwrap();
        let sealed = other.encrypt(RsaPadding::Oaep, b"a text").unwrap();
        let public = library().key(RsaPart::Public, PUBLIC).unwrap();
        let padded = public.encrypt(RsaPadding::Pkcs1, b"a text").unwrap();
        for message in [&sealed[..], &padded, b"", b"short", &[0xff; 300]] {
            let read = private.decrypt(RsaPadding::Oaep, message);
            assert_eq!(read, Err(RsaError::Undecipherable));
        }
    }

    #[test]
    fn rsa_text_has_the_length_that_the_padding_leaves() {
        let public = library().key(RsaPart::Public, PUBLIC).unwrap();
        for (padding, most) in [(RsaPadding::Pkcs1, 245), (RsaPadding::Oaep, 214)] {
            assert!(public.encrypt(padding, &vec![1; most]).is_ok());
            let error = public.encrypt(padding, &vec![1; most + 1]).unwrap_err();
            assert_eq!(error, RsaError::TooLong(most + 1, 2048));
        }
    }

    #[test]
    fn rsa_key_of_the_wrong_kind_is_named() {
        let error = |part, pem| library().key(part, pem).unwrap_err();
        assert_eq!(error(RsaPart::Private, PUBLIC), RsaError::PublicKey);
        assert_eq!(error(RsaPart::Public, PRIVATE), RsaError::PrivateKey);
        assert_eq!(error(RsaPart::Private, PROTECTED), RsaError::Protected);
        assert_eq!(error(RsaPart::Public, ELLIPTIC[0]), RsaError::NotRsa);
        assert_eq!(error(RsaPart::Private, ELLIPTIC[1]), RsaError::NotRsa);
        let broken = b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n";
        for text in [&broken[..], b"", b"user1,00", &[0xff; 100]] {
            assert_eq!(error(RsaPart::Public, text), RsaError::NoKey);
        }
    }

    #[test]
    fn missing_library_is_one_line_that_names_the_package() {
        let error = OpenSsl::load_file(c"libcrypto-missing.so.3").unwrap_err();
        let line = error.to_string();
        assert!(
            line.contains("libcrypto.so.3") && line.contains("libssl3"),
            "{line}"
        );
        assert!(!line.contains('\n'), "{line}");
    }

    #[test]
    fn sha256_is_that_of_fips_180() {
        let digest = library().sha256(b"abc");
        let text: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(text, known);
    }
}
