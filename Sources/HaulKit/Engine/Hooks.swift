package import HaulCore

/// Named points where a test may watch or block; the default does nothing.
package struct Hooks: Sendable {
  /// Before the recovered part is used.
  package var recovered: @Sendable (TransferID) async -> Void = { _ in }
  /// Before the verified file gets its name.
  package var willPublish: (@Sendable (TransferID) async -> Void)?

  package init() {}
}
