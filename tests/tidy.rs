//! Checks of the repository itself.

#[test]
fn the_workspace_is_pinned() {
    let pin = include_str!("../rust-toolchain.toml");
    assert!(pin.contains("1.95.0"));
}
