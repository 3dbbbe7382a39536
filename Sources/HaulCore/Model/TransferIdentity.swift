/// The names of a transfer, shared by its events and handles.
package final class TransferIdentity: Sendable {
  package let url: ResourceURL?
  package let identifier: String?
  package let group: String?
  package let kind: TransferRequest.Kind

  /// - Parameter kind: nil for a download, or, without an address, a step.
  package init(
    url: ResourceURL?, identifier: String?, group: String?, kind: TransferRequest.Kind? = nil
  ) {
    self.url = url
    self.identifier = identifier
    self.group = group
    self.kind = kind ?? (url == nil ? .step : .download)
  }

  package convenience init(_ request: TransferRequest) {
    self.init(
      url: request.url, identifier: request.identifier, group: request.group, kind: request.kind)
  }
}

extension TransferIdentity: Hashable {
  package static func == (left: TransferIdentity, right: TransferIdentity) -> Bool {
    left === right
      || (left.url, left.identifier, left.group) == (right.url, right.identifier, right.group)
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(url)
    hasher.combine(identifier)
    hasher.combine(group)
  }
}
