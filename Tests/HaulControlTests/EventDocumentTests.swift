import Foundation
import HaulControl
import HaulCore
import HaulTesting
import Testing

/// Events as JSON.
@Suite struct EventDocumentTests {
  private let id: TransferID

  init() throws { id = try #require(TransferID(bits: 7)) }

  private func event(_ kind: TransferEvent.Kind) throws -> TransferEvent {
    TransferEvent(
      number: 3, id: id, url: try ResourceURL("https://h/x.iso"), identifier: "i", group: "g",
      kind: kind)
  }

  /// With each property that has one, a value that is not its default.
  private func kinds() throws -> [TransferEvent.Kind] {
    let error = TransferError(.httpStatus, "busy", status: 503, isRetryable: true)
    let digests = [Checksum(.sha256, bytes: Array(0..<32)), Checksum(.md5, bytes: Array(0..<16))]
    let result = TransferResult(
      state: .failed, path: "/d/x", bytes: 9, fetched: 4, reused: 5, duration: .milliseconds(1250),
      checksums: digests.compactMap { $0 }, verified: .length, coding: "gzip", error: error,
      metrics: TransferMetrics(timeToFirstResponse: .milliseconds(12), requests: 3, retries: 2)
    ).noting(UploadReply(location: "https://h/y", text: "thanks")).noting(CacheUse.revalidated)
      .notingAdoption().notingUnchanged().noting(kept: "x")
    return [
      .added(target: nil), .added(target: "/d/x"), .target("/d/x (1)", reason: nil),
      .target("/d/x (1)", reason: "r"), .phase(.restarted, reason: "r"),
      .phase(.running, reason: nil), .paused(by: .disk), .resumed(by: .network),
      .progress(TransferProgress(bytes: 1)),
      .progress(TransferProgress(bytes: 1, total: 8, rate: 3, connections: 2)),
      .attempt(number: 2, error: error, delay: .milliseconds(1500)),
      .limited(connections: 2, error: error), .connections(ConnectionChoice(2, .noGain)),
      .connections(ConnectionChoice(4, .slower, rate: 7)),
      .finished(TransferResult(state: .cancelled)), .finished(result), .moved, .removed,
    ] + waits.map { .waiting($0) }
  }

  private var waits: [WaitReason] {
    [
      .slot, .hostLimit, .hostRefusal(until: 1.5), .hostBackOff(until: 2.5),
      .hostOutage(until: nil), .hostOutage(until: 3.5), .retry(at: 1_800_000_000.123456),
      .dependency(id, isBlocked: true), .dependency(id, isBlocked: false),
      .diskFull(.init(device: 0, directory: "/d", needed: 8, free: 2)),
      .directoryMissing("/d", foundDevice: nil), .offline, .credentialsRefused,
      .startTime(until: 4),
      .schedule("closed", until: 5), .suspended, .listNotStored,
    ]
  }

  @Test func `an event is the same after it was sent, and follows the schema`() throws {
    let schema = try EventSchema()
    for kind in try kinds() {
      let event = try self.event(kind)
      let document = EventDocument(event, at: 0)
      let data = try StrictJSON.encode(document)
      let text = String(decoding: data, as: UTF8.self)
      #expect(try schema.violations(text, of: "event") == [], "\(text)")
      let read = try StrictJSON.decode(EventDocument.self, from: data)
      #expect(read.event == event, "\(text)")
      #expect(try StrictJSON.encode(read) == data)
    }
  }

  @Test func `an added event tells what kind of transfer it is`() throws {
    for kind in [TransferRequest.Kind.download, .upload, .step] {
      let identity = TransferIdentity(url: nil, identifier: nil, group: nil, kind: kind)
      let event = TransferEvent(
        number: nil, id: id, identity: identity, kind: .added(target: nil))
      let data = try StrictJSON.encode(EventDocument(event, at: 0))
      let read = try StrictJSON.decode(EventDocument.self, from: data)
      #expect(read.event?.identity?.kind == kind)
    }
  }

  @Test func `a finished event has the keys of the result of a transfer`() throws {
    let result = TransferResult(state: .completed, path: "/d/x", bytes: 9)
    let event = EventDocument(try self.event(.finished(result)), at: 0)
    var transfer = TransferDocument(id: id, name: "x", state: .completed)
    (transfer.waiting, transfer.bytes) = (.init(.slot, at: 0), 9)
    transfer.error = .init(TransferError(.io, "why"))
    transfer.result = .init(result, isBackground: true)
    let text = String(decoding: try StrictJSON.encode(transfer), as: UTF8.self)
    #expect(try EventSchema().violations(text, of: "transfer") == [], "\(text)")
    let nested = try #require(try JSONValue(parsing: text)["result"]?.object)
    let flat = try JSONValue(
      parsing: String(decoding: try StrictJSON.encode(event), as: UTF8.self))
    for (key, value) in nested { #expect(flat[key] == value, "\(key)") }
  }

  @Test func `what a program wrote is not sent to others`() throws {
    let error = TransferError(.io, "tar ended with exit code 2; it said: secret")
    for kind: TransferEvent.Kind in [
      .finished(TransferResult(state: .failed, error: error)),
      .attempt(number: 1, error: error, delay: .seconds(1)),
    ] {
      var document = EventDocument(try event(kind), at: 0)
      document.hideProgramOutput()
      let text = String(decoding: try StrictJSON.encode(document), as: UTF8.self)
      #expect(text.contains("exit code 2") && !text.contains("secret"))
    }
  }
}
