package import HaulCore

/// A store, and what of it was damaged.
package struct OpenedStore: Sendable {
  package let store: any Store
  package let damage: TransferError?

  package init(store: any Store, damage: TransferError? = nil) {
    self.store = store
    self.damage = damage
  }
}
