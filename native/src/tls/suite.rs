//! Cipher suites, and the keys of a connection from its secrets.

use aes_gcm::aead::{AeadInPlace, KeyInit};
use aes_gcm::{Aes128Gcm, Aes256Gcm};
use chacha20poly1305::ChaCha20Poly1305;
use hmac::{Hmac, Mac};
use sha2::{Sha256, Sha384};

pub const NONCE_BYTES: usize = 12;
pub const TAG_BYTES: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    Tls12,
    Tls13,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cipher {
    Aes128Gcm,
    Aes256Gcm,
    ChaCha20Poly1305,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hash {
    Sha256,
    Sha384,
}

/// What was negotiated: the version, the cipher, and the hash of the key derivation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suite {
    pub version: Version,
    pub cipher: Cipher,
    pub hash: Hash,
}

/// OpenSSL's names of the suites of TLS 1.3.
const OF_TLS13: [(&str, Cipher, Hash); 3] = [
    ("TLS_AES_128_GCM_SHA256", Cipher::Aes128Gcm, Hash::Sha256),
    ("TLS_AES_256_GCM_SHA384", Cipher::Aes256Gcm, Hash::Sha384),
    ("TLS_CHACHA20_POLY1305_SHA256", Cipher::ChaCha20Poly1305, Hash::Sha256),
];
/// The ends of those of TLS 1.2, which begin with the key exchange: ECDHE-RSA-AES128-GCM-SHA256.
const OF_TLS12: [(&str, Cipher, Hash); 3] = [
    ("AES128-GCM-SHA256", Cipher::Aes128Gcm, Hash::Sha256),
    ("AES256-GCM-SHA384", Cipher::Aes256Gcm, Hash::Sha384),
    ("CHACHA20-POLY1305", Cipher::ChaCha20Poly1305, Hash::Sha256),
];

impl Suite {
    /// The suite with OpenSSL's names for the version and the cipher; None if it is not supported.
    pub fn named(version: &str, cipher: &str) -> Option<Self> {
        let (version, names) = match version {
            "TLSv1.3" => (Version::Tls13, OF_TLS13),
            "TLSv1.2" => (Version::Tls12, OF_TLS12),
            _ => return None,
        };
        let (_, cipher, hash) = names.into_iter().find(|(end, ..)| cipher.ends_with(end))?;
        Some(Self { version, cipher, hash })
    }

    /// Bytes of a secret of TLS 1.3.
    pub fn hash_bytes(&self) -> usize {
        match self.hash {
            Hash::Sha256 => 32,
            Hash::Sha384 => 48,
        }
    }

    fn key_bytes(&self) -> usize {
        match self.cipher {
            Cipher::Aes128Gcm => 16,
            Cipher::Aes256Gcm | Cipher::ChaCha20Poly1305 => 32,
        }
    }

    /// Whether a part of the nonce is sent with each record.
    pub fn has_explicit_nonce(&self) -> bool {
        self.version == Version::Tls12 && self.cipher != Cipher::ChaCha20Poly1305
    }

    /// Key and initialization vector of one direction of TLS 1.3.
    pub fn keys(&self, secret: &[u8]) -> Keys {
        let key = self.expand_label(secret, "key", self.key_bytes());
        let iv = self.expand_label(secret, "iv", NONCE_BYTES);
        Keys::new(self.cipher, &key, &iv)
    }

    /// The secret after a key update (RFC 8446, 7.2).
    pub fn next_secret(&self, secret: &[u8]) -> Vec<u8> {
        self.expand_label(secret, "traffic upd", self.hash_bytes())
    }

    /// HKDF-Expand-Label with an empty context (RFC 8446, 7.1). No output is longer than the hash.
    fn expand_label(&self, secret: &[u8], label: &str, length: usize) -> Vec<u8> {
        let mut info = vec![0, length as u8, 6 + label.len() as u8];
        info.extend_from_slice(b"tls13 ");
        info.extend_from_slice(label.as_bytes());
        info.extend_from_slice(&[0, 1]);
        let mut output = self.hmac(secret, &[&info]);
        output.truncate(length);
        output
    }

    /// Keys of TLS 1.2 from the master secret: those of the client and of the server (RFC 5246, 6.3).
    pub fn key_block(&self, master: &[u8], client_random: &[u8], server_random: &[u8]) -> (Keys, Keys) {
        let key_bytes = self.key_bytes();
        let iv_bytes = if self.has_explicit_nonce() { 4 } else { NONCE_BYTES };
        let seed = [b"key expansion", server_random, client_random].concat();
        let mut block = Vec::new();
        let mut round = self.hmac(master, &[&seed]);
        while block.len() < 2 * (key_bytes + iv_bytes) {
            block.extend(self.hmac(master, &[&round, &seed]));
            round = self.hmac(master, &[&round]);
        }
        let (keys, ivs) = block.split_at(2 * key_bytes);
        let of = |side: usize| {
            let (key, iv) = (&keys[side * key_bytes..][..key_bytes], &ivs[side * iv_bytes..][..iv_bytes]);
            Keys::new(self.cipher, key, iv)
        };
        (of(0), of(1))
    }

    fn hmac(&self, key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
        fn of<M: Mac + KeyInit>(key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
            let mut mac = <M as Mac>::new_from_slice(key).expect("HMAC takes keys of any length");
            parts.iter().for_each(|part| mac.update(part));
            mac.finalize().into_bytes().to_vec()
        }
        match self.hash {
            Hash::Sha256 => of::<Hmac<Sha256>>(key, parts),
            Hash::Sha384 => of::<Hmac<Sha384>>(key, parts),
        }
    }
}

enum Aead {
    Aes128Gcm(Box<Aes128Gcm>),
    Aes256Gcm(Box<Aes256Gcm>),
    ChaCha20Poly1305(Box<ChaCha20Poly1305>),
}

/// The cipher of one direction, and what its nonces begin with.
pub struct Keys {
    aead: Aead,
    iv: [u8; NONCE_BYTES],
}

impl Keys {
    /// From a key and an initialization vector of the right length; a short vector is the start of the nonce.
    fn new(cipher: Cipher, key: &[u8], iv: &[u8]) -> Self {
        let aead = match cipher {
            Cipher::Aes128Gcm => Aead::Aes128Gcm(Box::new(Aes128Gcm::new(key.into()))),
            Cipher::Aes256Gcm => Aead::Aes256Gcm(Box::new(Aes256Gcm::new(key.into()))),
            Cipher::ChaCha20Poly1305 => Aead::ChaCha20Poly1305(Box::new(ChaCha20Poly1305::new(key.into()))),
        };
        let mut whole = [0; NONCE_BYTES];
        whole[..iv.len()].copy_from_slice(iv);
        Self { aead, iv: whole }
    }

    /// The initialization vector with a number in its last eight bytes: a sequence number or an explicit nonce.
    pub fn nonce(&self, number: u64) -> [u8; NONCE_BYTES] {
        let mut nonce = self.iv;
        for (byte, of_number) in nonce[4..].iter_mut().zip(number.to_be_bytes()) {
            *byte ^= of_number;
        }
        nonce
    }

    /// Encrypts in place; returns the tag.
    pub fn seal(&self, nonce: &[u8; NONCE_BYTES], aad: &[u8], text: &mut [u8]) -> [u8; TAG_BYTES] {
        let nonce = nonce.into();
        let sealed = match &self.aead {
            Aead::Aes128Gcm(cipher) => cipher.encrypt_in_place_detached(nonce, aad, text),
            Aead::Aes256Gcm(cipher) => cipher.encrypt_in_place_detached(nonce, aad, text),
            Aead::ChaCha20Poly1305(cipher) => cipher.encrypt_in_place_detached(nonce, aad, text),
        };
        sealed.expect("a record is shorter than the limit of each cipher").into()
    }

    /// Decrypts in place; false if the text or the tag was changed.
    #[must_use]
    pub fn open(&self, nonce: &[u8; NONCE_BYTES], aad: &[u8], text: &mut [u8], tag: &[u8]) -> bool {
        let (nonce, tag) = (nonce.into(), tag.into());
        match &self.aead {
            Aead::Aes128Gcm(cipher) => cipher.decrypt_in_place_detached(nonce, aad, text, tag),
            Aead::Aes256Gcm(cipher) => cipher.decrypt_in_place_detached(nonce, aad, text, tag),
            Aead::ChaCha20Poly1305(cipher) => cipher.decrypt_in_place_detached(nonce, aad, text, tag),
        }
        .is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        digits.chunks(2).map(pair).collect()
    }

    #[test]
    fn suites_have_openssls_names() {
        let named = |version, cipher| Suite::named(version, cipher).map(|suite| (suite.cipher, suite.hash));
        let aes256 = Some((Cipher::Aes256Gcm, Hash::Sha384));
        assert_eq!(named("TLSv1.3", "TLS_AES_256_GCM_SHA384"), aes256);
        assert_eq!(named("TLSv1.2", "ECDHE-RSA-AES256-GCM-SHA384"), aes256);
        assert_eq!(named("TLSv1.2", "AES256-GCM-SHA384"), aes256);
        let chacha = Some((Cipher::ChaCha20Poly1305, Hash::Sha256));
        assert_eq!(named("TLSv1.2", "ECDHE-ECDSA-CHACHA20-POLY1305"), chacha);
        for (version, cipher) in [
            ("TLSv1.1", "ECDHE-RSA-AES256-SHA"),
            ("TLSv1.2", "ECDHE-RSA-AES256-SHA384"),
            ("TLSv1.2", "ECDHE-ARIA256-GCM-SHA384"),
            ("TLSv1.2", "ECDHE-ECDSA-AES256-CCM8"),
            ("TLSv1.3", "TLS_AES_128_CCM_SHA256"),
        ] {
            assert_eq!(named(version, cipher), None, "{cipher}");
        }
    }

    /// RFC 8448, 3: the server's application traffic secret, its key and its initialization vector.
    #[test]
    fn keys_of_tls13_are_those_of_the_rfc() {
        let suite = Suite::named("TLSv1.3", "TLS_AES_128_GCM_SHA256").unwrap();
        let secret = bytes("a11af9f05531f856ad47116b45a950328204b4f44bfb6b3a4b4f1f3fcb631643");
        let key = bytes("9f02283b6c9c07efc26bb9f2ac92e356");
        let iv = bytes("cf782b88dd83549aadf1e984");
        assert_eq!(suite.expand_label(&secret, "key", 16), key);
        assert_eq!(suite.expand_label(&secret, "iv", 12), iv);
        let (of_rfc, ours) = (Keys::new(suite.cipher, &key, &iv), suite.keys(&secret));
        let mut texts = [*b"same bytes", *b"same bytes"];
        let tags =
            [(&of_rfc, 0), (&ours, 1)].map(|(keys, one)| keys.seal(&keys.nonce(7), b"", &mut texts[one]));
        assert_eq!((texts[0], tags[0]), (texts[1], tags[1]));
    }

    #[test]
    fn a_nonce_contains_its_number() {
        let suite = Suite::named("TLSv1.3", "TLS_AES_128_GCM_SHA256").unwrap();
        let keys = Keys::new(suite.cipher, &[0; 16], &bytes("cf782b88dd83549aadf1e984"));
        assert_eq!(keys.nonce(0).to_vec(), bytes("cf782b88dd83549aadf1e984"));
        assert_eq!(keys.nonce(0x0102).to_vec(), bytes("cf782b88dd83549aadf1e886"));
    }
}
