//! The client/server protocol after the login: statements as packets, responses, rows.

pub mod compression;
pub mod packet;
pub mod response;
pub mod rows;
