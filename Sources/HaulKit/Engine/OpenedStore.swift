package import HaulCore

/// An open store, and the error when a damaged one was moved aside.
package struct OpenedStore: Sendable {
  package let store: any Store
  package let damage: TransferError?

  package init(store: any Store, damage: TransferError? = nil) {
    self.store = store
    self.damage = damage
  }
}
