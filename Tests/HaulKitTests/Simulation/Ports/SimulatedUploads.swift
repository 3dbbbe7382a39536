import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers

/// What the servers have of uploads, and what the sources were.
struct SimulatedUploads: Sendable {
  /// An upload by tus.
  struct Upload: Sendable {
    let name: String
    let length: Int
    /// What the member was ordered when it began; nil if an order was on its way. And its source.
    let discards: Int?
    let version: Int
    var bytes: [UInt8] = []
    /// As many as the client knows of.
    var acknowledged = 0
    var isDeleted = false
  }

  /// The whole files, by name.
  var objects: [String: [UInt8]] = [:]
  /// Every content that the source has had, by name.
  var versions: [String: [[UInt8]]] = [:]
  private(set) var all: [Upload] = []

  /// An upload of the present source that was begun before, and must be continued, or recognised if
  /// the server has it whole.
  func begun(_ name: String, discards: Int) -> Int? {
    let present = versions[name]?.last ?? []
    // One that began as the source changed may have bytes of the source before.
    return all.firstIndex { upload in
      upload.name == name && !upload.isDeleted && !upload.bytes.isEmpty
        && upload.discards == discards && upload.version == versions[name]?.count
        && present.starts(with: upload.bytes)
    }
  }

  /// The number of a new upload.
  mutating func create(_ name: String, length: Int, discards: Int?) -> Int {
    all.append(
      Upload(
        name: name, length: length, discards: discards, version: versions[name]?.count ?? 0))
    // An empty file is whole at once.
    finish(all.count - 1)
    return all.count - 1
  }

  mutating func append(_ bytes: some Sequence<UInt8>, to number: Int) {
    all[number].bytes += bytes
    finish(number)
  }

  mutating func finish(_ number: Int) {
    guard all[number].bytes.count == all[number].length else { return }
    objects[all[number].name] = all[number].bytes
  }

  mutating func acknowledge(_ number: Int) { all[number].acknowledged = all[number].bytes.count }
  mutating func delete(_ number: Int) { all[number].isDeleted = true }
}

/// How servers take uploads.
extension SimulatedTransport {
  func send(_ request: SendRequest) async throws -> SendResponse {
    // It is sent once, in the end of a run or after it.
    guard request.method != "DELETE" else {
      try checkAlive()
      return delete(request)
    }
    let offset = request.headers["Upload-Offset"].map { " at \($0)" } ?? ""
    let connection = try open(request.url, request.method + offset)
    defer { connection.close() }
    try await wait(upTo: 120)
    try checkAlive()
    let response = try await answer(request, on: connection)
    try checkAlive()
    reportAnswer(of: request.url)
    return response
  }

  private func answer(
    _ request: SendRequest, on connection: SimulatedConnection
  ) async throws -> SendResponse {
    guard let resource = servers[request.url.name] else {
      throw TransferError(.internal, "there is no such resource in this world")
    }
    let fault = try await takeFault(connection)
    switch fault {
    case .unavailable: return response(503, to: request)
    case .pausing:
      let seconds = 1 + random.below(3)
      notePause(seconds, of: connection)
      return response(503, [("Retry-After", "\(seconds)")], to: request)
    default: break
    }
    if resource.isMissing { return response(404, to: request) }
    let response = try await take(request, fault)
    // The server has done what it was asked for, and the answer is lost.
    if fault == .short { throw lost(request) }
    acknowledge(request, response)
    return response
  }

  /// The request gets no answer: its host is asked again only after a wait.
  private func lost(_ request: SendRequest) -> TransferError {
    ledger.withLockedValue { $0.silentSince[request.url.origin.host] = clock.now }
    return TransferError(.connectionLost, "reset", isRetryable: true)
  }

  private func take(_ request: SendRequest, _ fault: Fault?) async throws -> SendResponse {
    switch request.method {
    case "PUT":
      var whole: [UInt8] = []
      try await read(request, fault) { whole += $0 }
      let bytes = whole
      servers.uploads.withLockedValue { $0.objects[request.url.name] = bytes }
      return response(201, to: request)
    case "OPTIONS":
      return response(
        204, [("Tus-Version", "1.0.0"), ("Tus-Extension", "creation,termination")], to: request)
    case "POST": return create(request)
    case "HEAD":
      guard let (_, upload) = upload(request) else { return response(404, to: request) }
      return response(
        200, [("Upload-Offset", "\(upload.bytes.count)"), ("Upload-Length", "\(upload.length)")],
        to: request)
    default: return try await append(request, fault)
    }
  }

  private func create(_ request: SendRequest) -> SendResponse {
    let name = request.url.name
    let length = request.headers["Upload-Length"].flatMap { Int($0) } ?? 0
    let number = ledger.withLockedValue { ledger in
      let member = ledger.members.values.first { $0.name == name }
      let discards = member?.discards ?? 0
      // A command that has not returned may still be for this upload.
      let mayBeDiscarded = member.map { ledger.isDiscarding($0) } ?? false
      return servers.uploads.withLockedValue { uploads in
        if let old = uploads.begun(name, discards: discards) {
          ledger.violate("a second upload of \(name), beside \(old)")
        }
        return uploads.create(name, length: length, discards: mayBeDiscarded ? nil : discards)
      }
    }
    return response(201, [("Location", "/\(number)/\(name)")], to: request)
  }

  private func append(_ request: SendRequest, _ fault: Fault?) async throws -> SendResponse {
    guard let (number, upload) = upload(request) else { return response(404, to: request) }
    let offset = request.headers["Upload-Offset"].flatMap { Int($0) } ?? -1
    if offset < upload.acknowledged {
      ledger.withLockedValue {
        $0.violate(
          "\(upload.name): \(upload.acknowledged) bytes were acknowledged, sent at \(offset)")
      }
    }
    guard offset == upload.bytes.count else { return response(409, to: request) }
    servers.uploads.withLockedValue { $0.finish(number) }
    try await read(request, fault) { bytes in
      servers.uploads.withLockedValue { $0.append(bytes, to: number) }
    }
    let count = servers.uploads.withLockedValue { $0.all[number].bytes.count }
    return response(204, [("Upload-Offset", "\(count)")], to: request)
  }

  /// Reads the body, or a part of it before the connection is lost or nothing is taken any more.
  private func read(
    _ request: SendRequest, _ fault: Fault?, _ take: ([UInt8]) -> Void
  ) async throws {
    guard let body = request.body else { return }
    let isCut = fault == .lost || fault == .stalled
    var left = isCut ? random.below(Int(request.length ?? 0) + 1) : .max
    for try await chunk in body {
      try checkAlive()
      let bytes = Array(chunk.withBytes { Array($0) }.prefix(left))
      take(bytes)
      left -= bytes.count
      if left == 0 { break }
      try await wait(upTo: 150)
    }
    try checkAlive()
    guard isCut else { return }
    let error = lost(request)
    if fault == .stalled { try await clock.wait(.seconds(600)) }
    throw error
  }

  /// The client knows from now on what the server has.
  private func acknowledge(_ request: SendRequest, _ response: SendResponse) {
    guard response.head.headers["Upload-Offset"] != nil, let (number, _) = upload(request) else {
      return
    }
    servers.uploads.withLockedValue { $0.acknowledge(number) }
  }

  private func delete(_ request: SendRequest) -> SendResponse {
    guard let (number, _) = upload(request) else { return response(404, to: request) }
    servers.uploads.withLockedValue { $0.delete(number) }
    return response(204, to: request)
  }

  private func upload(_ request: SendRequest) -> (number: Int, SimulatedUploads.Upload)? {
    let parts = request.url.pathAndQuery.split(separator: "/")
    guard parts.count == 2, let number = Int(parts[0]) else { return nil }
    let upload = servers.uploads.withLockedValue { $0.all[number] }
    return upload.isDeleted ? nil : (number, upload)
  }

  private func response(
    _ status: Int, _ fields: [(String, String)] = [], to request: SendRequest
  ) -> SendResponse {
    SendResponse(
      head: ResponseHead(status: status, headers: HeaderFields(fields), url: request.url))
  }
}
