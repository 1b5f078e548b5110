//! Values of a program: their types, how they are drawn at random, and the expressions between them.

pub mod decimal;
pub mod digits;
pub mod distribution;
pub mod draw;
pub mod evaluate;
pub mod limits;
pub mod mt19937;
pub mod value;
