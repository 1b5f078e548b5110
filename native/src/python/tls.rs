//! The records of a TLS connection for Python's transport, which has them until the engine takes them.

use std::sync::{Arc, Mutex};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::engine::connection::layers::RecordsCell;
use crate::panics::lock;
use crate::tls::records::{Content, Records};
use crate::tls::suite::Suite;

/// Encrypts and decrypts after the handshake. RuntimeError while the engine has the connection.
#[pyclass(frozen, module = "tuibench_native")]
pub struct TlsRecords(pub RecordsCell);

impl TlsRecords {
    fn kept(records: Records) -> Self {
        Self(Arc::new(Mutex::new(Some(records))))
    }

    fn with<T>(&self, act: impl FnOnce(&mut Records) -> PyResult<T>) -> PyResult<T> {
        match &mut *lock(&self.0) {
            Some(records) => act(records),
            None => Err(taken()),
        }
    }
}

pub fn taken() -> PyErr {
    PyRuntimeError::new_err("a thread has this connection")
}

fn suite(version: &str, cipher: &str) -> PyResult<Suite> {
    Suite::named(version, cipher)
        .ok_or_else(|| PyValueError::new_err(format!("{version} with {cipher} is not supported")))
}

#[pymethods]
impl TlsRecords {
    /// Whether this version and cipher are supported, by OpenSSL's names.
    #[staticmethod]
    fn supports(version: &str, cipher: &str) -> bool {
        Suite::named(version, cipher).is_some()
    }

    /// From the application traffic secrets of TLS 1.3.
    #[staticmethod]
    fn of_tls13(cipher: &str, client_secret: Vec<u8>, server_secret: Vec<u8>) -> PyResult<Self> {
        let suite = suite("TLSv1.3", cipher)?;
        Ok(Self::kept(Records::of_tls13(suite, client_secret, server_secret)))
    }

    /// From the master secret of TLS 1.2. `finished_nonce` is the explicit nonce of the client's last record.
    #[staticmethod]
    fn of_tls12(
        cipher: &str,
        master_secret: &[u8],
        client_random: &[u8],
        server_random: &[u8],
        finished_nonce: u64,
    ) -> PyResult<Self> {
        let suite = suite("TLSv1.2", cipher)?;
        Ok(Self::kept(Records::of_tls12(suite, master_secret, client_random, server_random, finished_nonce)))
    }

    /// Data as records, to be sent.
    fn seal<'py>(&self, py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        self.with(|records| {
            let mut sealed = Vec::new();
            records.seal(data, &mut sealed);
            Ok(PyBytes::new(py, &sealed))
        })
    }

    /// The data in received bytes, and whether the peer sends nothing more. ValueError for bytes that are not those
    /// of this connection.
    fn open<'py>(&self, py: Python<'py>, received: &[u8]) -> PyResult<(Bound<'py, PyBytes>, bool)> {
        self.with(|records| {
            let mut buffer = vec![0; records.partial_bytes()];
            records.take_partial(&mut buffer);
            buffer.extend_from_slice(received);
            let (mut data, mut place) = (Vec::new(), 0);
            let mut is_closed = false;
            let refused =
                |violation: crate::tls::records::Violation| PyValueError::new_err(violation.to_string());
            while let Some((content, length)) = records.open(&mut buffer[place..]).map_err(refused)? {
                match content {
                    Content::Data(range) => data.extend_from_slice(&buffer[place..][range]),
                    Content::Closed => is_closed = true,
                    Content::None => {}
                }
                place += length;
            }
            records.keep_partial(&buffer[place..]);
            Ok((PyBytes::new(py, &data), is_closed))
        })
    }
}
