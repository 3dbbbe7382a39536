/// The faults that tests of an app need. `times` limits a fault to the first requests; nil for no
/// limit. Offsets and counts are bytes of the body.
extension Fault {
  /// Sends this status instead of the file, with these fields (`Name: value`).
  public static func status(
    _ status: Int, headers: [String] = [], body: String = "", times: Int? = nil
  ) -> Fault {
    Fault(.respond(status: status, headers: headers, body: body), when: Match(times: times))
  }

  /// Sends 503 with `Retry-After`.
  public static func retryLater(seconds: Int64, times: Int? = nil) -> Fault {
    Fault(.retryLater(seconds: seconds), when: Match(times: times))
  }

  /// Redirects with 302 to this address.
  public static func redirect(to location: String, times: Int? = nil) -> Fault {
    Fault(.redirect(location: location), when: Match(times: times))
  }

  /// Resets the connection after `bytes` bytes of the body.
  public static func reset(after bytes: Int64, times: Int? = nil) -> Fault {
    Fault(.reset(after: bytes), when: Match(times: times))
  }

  /// Closes the connection after `bytes` bytes of the body.
  public static func close(after bytes: Int64, times: Int? = nil) -> Fault {
    Fault(.close(after: bytes), when: Match(times: times))
  }

  /// Sends nothing after `bytes` bytes of the body, until `FaultServer.release(_:)`.
  public static func stall(after bytes: Int64, times: Int? = nil) -> Fault {
    Fault(.stall(after: bytes), when: Match(times: times))
  }

  /// Sends 200 and the whole file, whatever range was requested.
  public static func ignoreRange(times: Int? = nil) -> Fault {
    Fault(.ignoreRange, when: Match(times: times))
  }
}
