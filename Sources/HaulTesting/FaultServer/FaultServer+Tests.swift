public import HaulCore

/// What a test of an app begins with.
extension FaultServer {
  /// Starts a server with these resources, over plain HTTP; it must be shut down.
  /// `withFaultServer(_:_:)` does both.
  /// - Throws: what the system says when no port can be opened.
  public static func start(_ resources: [FaultScript.Resource]) async throws -> FaultServer {
    try await start(FaultScript(resources))
  }

  /// The address of a path that begins with `/`.
  /// - Throws: `bad-url` for what is no path.
  public func resourceURL(_ path: String) throws(TransferError) -> ResourceURL {
    try ResourceURL(url(path))
  }

  /// Every request so far, in the order they came.
  public var requests: [RequestRecord] { snapshot.requests }
}

/// Starts a server with these resources, over plain HTTP, runs `body`, and shuts the server down
/// whatever happened.
/// - Throws: as `FaultServer.start(_:)`, and what `body` throws.
public func withFaultServer<Result>(
  _ resources: [FaultScript.Resource], _ body: (FaultServer) async throws -> Result
) async throws -> Result {
  try await withFaultServer(FaultScript(resources), body)
}
