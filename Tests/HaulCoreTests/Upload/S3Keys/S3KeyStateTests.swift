import HaulCore
import Testing

/// When keys are asked for.
@Suite struct S3KeyStateTests {
  private static func keys(_ id: String = "i", until expiry: Double?) -> S3Keys {
    S3Keys(S3Credentials(accessKeyID: id, secretAccessKey: "s"), expiry: expiry)
  }

  private static let failure = TransferError(.unauthorized, "no")

  /// A state that has these keys since the time 0.
  private static func state(_ keys: S3Keys) throws -> S3KeyState {
    var state = S3KeyState()
    #expect(state.next(at: 0) == .ask)
    _ = try state.ended(.success(keys), at: 0).get()
    return state
  }

  @Test func `Keys are asked for once; the others wait`() throws {
    var state = S3KeyState()
    #expect(state.next(at: 0) == .ask)
    #expect(state.next(at: 0) == .wait)
    let keys = Self.keys(until: 3600)
    #expect(try state.ended(.success(keys), at: 1).get() == keys)
    #expect(state.next(at: 1) == .use(keys))
    #expect(state.next(at: 3299) == .use(keys))
  }

  @Test(
    arguments: [
      (3600, 3299, false), (3600, 3300, true), (3600, 3540, true), (3600, 4000, true),
      (nil, 1e9, false),
    ] as [(Double?, Double, Bool)])
  func `They are asked for again five minutes before their end`(
    expiry: Double?, now: Double, asks: Bool
  ) throws {
    let keys = Self.keys(until: expiry)
    var state = try Self.state(keys)
    #expect(state.next(at: now) == (asks ? .ask : .use(keys)))
  }

  @Test func `Meanwhile the others use the old ones, until a minute before their end`() throws {
    let keys = Self.keys(until: 3600)
    var state = try Self.state(keys)
    #expect(state.next(at: 3301) == .ask)
    #expect(state.next(at: 3302) == .use(keys))
    #expect(state.next(at: 3539) == .use(keys))
    #expect(state.next(at: 3540) == .wait)
  }

  @Test func `A failure counts once the old ones end, and may pass`() throws {
    let keys = Self.keys(until: 3600)
    var state = try Self.state(keys)
    #expect(state.next(at: 3301) == .ask)
    #expect(try state.ended(.failure(Self.failure), at: 3305).get() == keys)
    // Each request would be delayed.
    #expect(state.next(at: 3364) == .use(keys))
    #expect(state.next(at: 3365) == .ask)
    let error = #expect(throws: TransferError.self) {
      try state.ended(.failure(Self.failure), at: 3541).get()
    }
    #expect(error?.isRetryable == true)
    #expect(state.next(at: 3541) == .ask)
  }

  @Test func `A source that never gave keys fails for good`() {
    var state = S3KeyState()
    #expect(state.next(at: 0) == .ask)
    let error = #expect(throws: TransferError.self) {
      try state.ended(.failure(Self.failure), at: 1).get()
    }
    #expect(error == Self.failure)
    #expect(state.next(at: 1) == .ask)
  }

  @Test func `Who was stopped leaves it to the next`() {
    var state = S3KeyState()
    #expect(state.next(at: 0) == .ask)
    #expect(throws: CancellationError.self) {
      try state.ended(.failure(CancellationError()), at: 1).get()
    }
    #expect(state.next(at: 1) == .ask)
  }

  @Test func `Keys that the store refuses are not used again, but newer ones are`() throws {
    let keys = Self.keys(until: 3600)
    var state = try Self.state(keys)
    state.refused(Self.keys("older", until: 3600).credentials)
    #expect(state.next(at: 1) == .use(keys))
    state.refused(keys.credentials)
    #expect(state.next(at: 1) == .ask)
  }

  @Test func `Keys that the store may not know are asked for again, once a minute`() throws {
    let keys = Self.keys(until: nil)
    var state = try Self.state(keys)
    state.doubted(keys.credentials, at: 59)
    #expect(state.next(at: 60) == .use(keys))
    state.doubted(Self.keys("older", until: nil).credentials, at: 60)
    #expect(state.next(at: 60) == .use(keys))
    state.doubted(keys.credentials, at: 60)
    #expect(state.next(at: 60) == .ask)
    #expect(state.next(at: 60) == .use(keys))
    // A source that does not answer leaves the old ones.
    #expect(try state.ended(.failure(Self.failure), at: 61).get() == keys)
    #expect(state.next(at: 200) == .use(keys))
    state.doubted(keys.credentials, at: 200)
    #expect(state.next(at: 200) == .ask)
    let newer = Self.keys("newer", until: nil)
    #expect(try state.ended(.success(newer), at: 201).get() == newer)
    state.doubted(newer.credentials, at: 260)
    #expect(state.next(at: 260) == .use(newer))
  }

  @Test func `Keys that are given for a short time are used meanwhile`() throws {
    let keys = Self.keys(until: 180)
    var state = try Self.state(keys)
    #expect(state.next(at: 59) == .use(keys))
    #expect(state.next(at: 60) == .ask)
  }
}
