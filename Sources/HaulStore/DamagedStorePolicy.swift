/// What happens to a stored list that is damaged.
public enum DamagedStorePolicy: Sendable, Hashable {
  /// It is not changed, and opening fails with `io`.
  case refuse
  /// It is moved aside as a whole, and the list starts empty; `TransferManager.damage` has the new
  /// name.
  case startEmpty
}
