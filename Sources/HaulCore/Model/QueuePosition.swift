/// A position in the list.
public enum QueuePosition: Hashable, Sendable {
  case first, last
  case before(TransferID), after(TransferID)
}
