/// A place in the list.
public enum QueuePlace: Hashable, Sendable {
  case first, last
  case before(TransferID), after(TransferID)
}
