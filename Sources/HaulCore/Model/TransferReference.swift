/// What names a transfer that another one depends on: its handle, its id, or as a text its
/// identifier, which may be added in the same call.
public protocol TransferReference: Sendable {
  /// The transfer that must be completed first.
  var dependency: TransferRequest.Dependency { get }
}

extension TransferRequest.Dependency: TransferReference {
  /// Itself.
  public var dependency: TransferRequest.Dependency { self }
}

extension TransferID: TransferReference {
  /// The transfer with this id.
  public var dependency: TransferRequest.Dependency { .transfer(self) }
}

extension String: TransferReference {
  /// The transfer with this identifier.
  public var dependency: TransferRequest.Dependency { .identifier(self) }
}
