import HaulCore
package import HaulKit

extension DetailsDocument {
  /// What was asked for, without secrets; only for its owner, who is on the socket.
  package struct Request: Codable, Hashable, Sendable {
    /// The working directory of a program.
    package var directory: String?
    /// The address of the file of an upload that comes from another server.
    package var source: String?
    /// Where the file of a download goes, unless the server or another file makes the name another.
    package var target: String?
    /// The ids, or the callers' names, of the transfers that must be completed first.
    package var after: [String]
    /// The digests that the file must have, as `ALG=HEX`.
    package var checksums: [String]
    /// The names of its header fields.
    package var fields: [String]

    package init(
      directory: String? = nil, source: String? = nil, target: String? = nil, after: [String] = [],
      checksums: [String] = [], fields: [String] = []
    ) {
      (self.directory, self.source, self.target) = (directory, source, target)
      (self.after, self.checksums, self.fields) = (after, checksums, fields)
    }

    package init(_ view: TransferView) {
      let request = view.request
      self.init(
        after: request.dependencies.map(\.name),
        checksums: request.download?.checksums.map(\.description) ?? [],
        fields: request.headers.map(\.name))
      switch request.work {
      case .step(let step):
        if case .program(_, let path) = step.action { directory = path }
      case .download(let download):
        switch download.destination {
        case .file(let path): target = path
        case .directory(let path):
          // The name of the row is the one that the file really has.
          target = path.appendingPath(FileName(download.url).text)
        case .stream: break
        }
      case .upload(let upload): source = upload.download?.url.redacted
      }
    }
  }
}

extension TransferRequest {
  /// The program and its arguments; nil for other work.
  var program: [String]? {
    guard case .step(let step) = work, case .program(let words, _) = step.action else { return nil }
    return words
  }
}

extension TransferRequest.Dependency {
  fileprivate var name: String {
    switch self {
    case .transfer(let id): id.description
    case .identifier(let name): name
    }
  }
}
