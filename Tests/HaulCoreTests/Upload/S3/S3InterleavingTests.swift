import HaulCore
import Testing

/// Three runs of one transfer to one store, in each order of their requests.
///
/// Only requests about the object are distinguished: what a run does with its own parts no other
/// run sees, so that has one order. A run begins with its question for the object: it reads its
/// version of the source after that, so that version was there then.
@Suite struct S3InterleavingTests {
  private typealias Publication = S3PublicationTests

  private struct Object {
    let version: Int
    let tag: String
    let fields: HeaderFields
  }

  /// A store of one object that obeys conditions.
  private struct Store {
    var object: Object?
    var uploads: [String: HeaderFields] = [:]
    private var count = 0
    /// Whether an older version has replaced a newer one.
    var hasGoneBack = false

    init(holdsOne: Bool) {
      if holdsOne { object = Object(version: 0, tag: "\"0\"", fields: HeaderFields()) }
    }

    private mutating func make(
      _ message: UploadMessage, _ fields: HeaderFields, version: Int
    ) -> Bool {
      let isMet =
        switch (message.fields["If-None-Match"], message.fields["If-Match"]) {
        case (nil, let tag?): object?.tag == tag
        case (_?, _): object == nil
        case (nil, nil): true
        }
      guard isMet else { return false }
      count += 1
      if let object, object.version > version { hasGoneBack = true }
      object = Object(version: version, tag: "\"\(count)\"", fields: fields)
      return true
    }

    mutating func answer(
      to message: UploadMessage, version: Int, length: Int64
    ) throws -> UploadEvent {
      let parts = message.url.absoluteString.split(separator: "uploadId=")
      let (id, sent) = (parts.count == 2 ? String(parts[1]) : "", message.range?.length ?? 0)
      let unmet = S3MachineTests.refusal("PreconditionFailed")
      switch message.method {
      case "HEAD":
        guard let object else { return try HaulCoreTests.answer(404) }
        return try HaulCoreTests.answer(
          200,
          [("ETag", object.tag), ("Content-Length", "\(length)")]
            + object.fields.fields.map { ($0.name, $0.value) })
      case "PUT" where message.url.absoluteString.contains("?"):
        return try HaulCoreTests.answer(200, [("ETag", "p")], sent: sent, part: message.part)
      case "PUT":
        guard make(message, Self.metadata(message), version: version) else {
          return try HaulCoreTests.answer(412, body: unmet, part: message.part)
        }
        return try HaulCoreTests.answer(
          200, [("ETag", object?.tag ?? "")], sent: sent, part: message.part)
      case "DELETE":
        return try HaulCoreTests.answer(uploads.removeValue(forKey: id) == nil ? 404 : 204)
      case _ where id.isEmpty:
        count += 1
        uploads["u\(count)"] = Self.metadata(message)
        return try HaulCoreTests.answer(
          200, body: S3MachineTests.created.replacing("u1", with: "u\(count)"))
      default:
        guard let fields = uploads[id] else {
          return try HaulCoreTests.answer(404, body: S3MachineTests.refusal("NoSuchUpload"))
        }
        guard make(message, fields, version: version) else {
          return try HaulCoreTests.answer(412, body: unmet)
        }
        uploads[id] = nil
        return try HaulCoreTests.answer(200, body: S3MachineTests.completed)
      }
    }

    private static func metadata(_ message: UploadMessage) -> HeaderFields {
      HeaderFields(message.fields.fields.filter { $0.name.hasPrefix("x-amz-meta-") })
    }
  }

  /// One run.
  private struct Writer {
    private var machine: S3Machine
    private var random: SplitMix64
    let version: Int
    /// The version that the source has.
    var present: Int
    let length: Int64
    /// The request that it sends next.
    private(set) var next: UploadMessage?
    private(set) var end: UploadEnd?

    init(version: Int, length: Int64, seed: UInt64) throws {
      machine = try Publication.machine(length, tag: "\"v\(version)\"")
      (random, self.version, self.length) = (SplitMix64(seed: seed), version, length)
      present = version
      try take(.start(nil))
    }

    mutating func take(_ event: UploadEvent) throws {
      var events = [event]
      while let event = events.popLast() {
        for command in machine.handle(event, at: Instant(.seconds(1)), using: &random) {
          switch command {
          case .send(let message): next = message
          case .digest(_, let part, _): events.append(S3MachineTests.digest(part))
          case .storeRecord: events.append(.stored(nil))
          case .checkSource: events.append(.sourceChecked(nil))
          case .checkVersion:
            events.append(
              .sourceChecked(
                version == present ? nil : TransferError(.sourceChanged, "changed")))
          case .finish(let end): self.end = end
          case .retry: throw TransferError(.internal, "nothing failed for a moment")
          default: break
          }
        }
      }
    }

    /// Sends the next request, and those about its parts that follow.
    mutating func step(_ store: inout Store) throws {
      repeat {
        guard let message = next else { return }
        next = nil
        try take(try store.answer(to: message, version: version, length: length))
      } while next.map { !Self.isAboutObject($0) } ?? false
    }

    private static func isAboutObject(_ message: UploadMessage) -> Bool {
      switch message.method {
      case "HEAD": true
      case "PUT": message.part == 0 || !message.url.absoluteString.contains("?")
      case "POST": message.url.absoluteString.contains("uploadId=")
      default: false
      }
    }
  }

  private struct World {
    var store: Store
    var writers: [Writer] = []
    let length: Int64
    /// Whether the source changes before each run.
    let changes: Bool

    /// Each order of what is left to do.
    /// - Returns: how many there are.
    func explore() throws -> Int {
      var count = 0
      for index in writers.indices where writers[index].next != nil {
        var world = self
        world.writers[index].present = writers.map(\.version).max() ?? 0
        try world.writers[index].step(&world.store)
        count += try world.explore()
      }
      if writers.count < 3 {
        var world = self
        let number = writers.count + 1
        var writer = try Writer(
          version: changes ? number : 1, length: length, seed: UInt64(number))
        try writer.step(&world.store)
        world.writers.append(writer)
        count += try world.explore()
      }
      guard count == 0 else { return count }
      #expect(!store.hasGoneBack)
      #expect(store.object?.version == writers.map(\.version).max())
      #expect(store.uploads.isEmpty)
      #expect(writers.allSatisfy { $0.end == .completed })
      return 1
    }
  }

  @Test(arguments: [S3PublicationTests.part, S3PublicationTests.part + 1], [false, true])
  func `No older version replaces a newer one, and each run ends well`(
    length: Int64, holdsOne: Bool
  ) throws {
    for changes in [false, true] {
      let store = Store(holdsOne: holdsOne)
      let count = try World(store: store, length: length, changes: changes).explore()
      #expect(count > 50)
    }
  }
}
