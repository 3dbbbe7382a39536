extension DownloadMachine {
  /// What is known from the request and the disk before the first event.
  package struct Rules: Sendable {
    package var url: ResourceURL
    package var headers = HeaderFields()
    /// The key of an S3 store; nil for any other resource.
    package var signing: S3Login?
    package var allowInsecure = false
    package var trustedHosts: Set<String> = []
    package var connections = 8
    package var minimumSplit: Int64 = 1 << 20
    package var checksums: [Checksum] = []
    package var allowUnverified = false
    /// Whether the user says that another address serves the same resource.
    package var resumesFromOtherURL = false
    package var maximumSize: Int64?
    /// Whether encoded bodies are requested and decoded; ranges are not possible then.
    package var decodes = false
    package var retry = RetryPolicy()
    /// Whether the name comes with the first answer; nothing is written before that.
    package var learnsName = false
    /// Whether a person waits for it: then it fails soon if its host does not answer.
    package var isAttended = false
    /// Whether a reader gets the bytes as they come, so that they cannot be replaced later.
    package var isStream = false
    /// The number of connections that an earlier transfer of the host ended with.
    package var rememberedConnections: Int?

    package init(url: ResourceURL) { self.url = url }
  }
}
