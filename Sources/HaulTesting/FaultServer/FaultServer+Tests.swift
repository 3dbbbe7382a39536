public import HaulCore

/// What most tests of an app need.
extension FaultServer {
  /// Starts a server with these resources, over plain HTTP. Shut it down at the end;
  /// `withFaultServer(_:_:)` does both.
  /// - Throws: the system's error if no port can be opened.
  public static func start(_ resources: [FaultScript.Resource]) async throws -> FaultServer {
    try await start(FaultScript(resources))
  }

  /// The address of a path that begins with `/`.
  /// - Throws: `bad-url` if it is not a path.
  public func resourceURL(_ path: String) throws(TransferError) -> ResourceURL {
    try ResourceURL(url(path))
  }

  /// Every request so far, in order of arrival.
  public var requests: [RequestRecord] { snapshot.requests }
}

/// Starts a server with these resources, over plain HTTP, runs `body`, and shuts the server down,
/// also after an error.
/// - Throws: as `FaultServer.start(_:)`, and the errors of `body`.
public func withFaultServer<Result>(
  _ resources: [FaultScript.Resource], _ body: (FaultServer) async throws -> Result
) async throws -> Result {
  try await withFaultServer(FaultScript(resources), body)
}
