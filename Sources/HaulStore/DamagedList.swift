/// What happens to a stored list that is damaged.
public enum DamagedList: Sendable, Hashable {
  /// It stays where it is, and opening fails with `io`.
  case refuse
  /// It is moved aside as a whole, and the list starts empty; `TransferManager.damage` says where
  /// it is now.
  case startEmpty
}
