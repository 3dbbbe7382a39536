extension DownloadMachine {
  /// What is known before the first event.
  package struct Rules: Sendable {
    package var request: DownloadRequest
    /// Whether the name comes with the first answer; nothing is written before that.
    package var learnsName = false
    /// Whether a person waits for it: then it fails soon if its host does not answer.
    package var isAttended = false
    /// The number of connections that an earlier transfer of the host ended with.
    package var rememberedConnections: Int?

    package init(_ request: DownloadRequest) { self.request = request }

    var trustedHosts: Set<String> { Set(request.trustedRedirectHosts.map { $0.lowercased() }) }
    var connections: Int { max(request.connections, 1) }
    /// Whether a reader gets the bytes as they come, so that they cannot be replaced later.
    var isStream: Bool { request.destination == .stream }
  }
}
