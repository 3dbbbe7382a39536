import HaulControl
import HaulCore
import HaulKit

/// Changes of the requests of transfers.
extension ControlAPI {
  func perform(_ body: ChangesBody) async throws -> ChangesResponse {
    guard body.change.url == nil else {
      throw Problem(422, "Unprocessable Content", "'url' is another address of one transfer")
    }
    let ids = try await ids(of: body.transfers)
    let refused = try await apply(body.change, to: ids)
    return ChangesResponse(
      ids: ids,
      refused: refused.sorted { $0.key < $1.key }.map { id, error in
        let problem = error as? Problem ?? (error as? TransferError).map { Problem($0) }
        return .init(id: id, message: problem?.detail ?? "it failed")
      })
  }

  /// - Returns: why some were not changed, as a `Problem` or a `TransferError`.
  func apply(
    _ change: ChangeBody, to ids: [TransferID]
  ) async throws -> [TransferID: any Error] {
    let priority = try change.priority.map {
      try Problem.checked(try TransferRequest.priority($0))
    }
    var refused = try await edit(ids, change)
    if let priority {
      let others = ids.filter { refused[$0] == nil }
      let report = try await manager.setPriority(priority, of: .ids(others))
      for (id, refusal) in report.refused { refused[id] = TransferError(refusal) }
    }
    return refused
  }

  /// What cannot be changed while a transfer runs is changed while it is paused.
  private func edit(
    _ ids: [TransferID], _ change: ChangeBody
  ) async throws -> [TransferID: any Error] {
    guard change != ChangeBody(priority: change.priority, keepsName: change.keepsName) else {
      return [:]
    }
    var refused = try await editNow(ids, change)
    let running = ids.filter { (refused[$0] as? TransferError)?.refusal == .isRunning }
    guard !running.isEmpty else { return refused }
    _ = try await manager.perform(.pause, .ids(running))
    do {
      let again = try await editNow(running, change)
      for id in running { refused[id] = again[id] }
    } catch {
      _ = try await manager.perform(.resume, .ids(running))
      throw error
    }
    _ = try await manager.perform(.resume, .ids(running))
    return refused
  }

  private func editNow(
    _ ids: [TransferID], _ change: ChangeBody
  ) async throws -> [TransferID: any Error] {
    let url = try change.url.map { try ResourceURL(ofBody: $0) }
    let roots = roots
    let refused = try await manager.coordinator.set(ids) { request in
      try request.apply(change, url, roots)
    }
    return refused.mapValues { error in
      guard let error = error as? TransferError, error.remedy == .sameResource else { return error }
      return TransferError(
        .refused, error.fact, advice: error.advice.map { "\($0) (haul set --same-resource)" })
    }
  }
}

extension TransferRequest {
  /// All of it is changed, or nothing.
  fileprivate mutating func apply(
    _ change: ChangeBody, _ url: ResourceURL?, _ roots: RootDirectories?
  ) throws(Problem) {
    var request = self
    if url != nil || change.headers != nil { try roots?.checkMove(of: request) }
    if change.bearerFile != nil, roots != nil { throw RootDirectories.noBearerFile }
    if let url { try request.move(to: url, keepingName: change.keepsName ?? false) }
    if let headers = change.headers {
      try request.change(headers)
      // A client may change again what it has set.
      request.download?.hasFieldsOfClient = roots != nil
    }
    if let file = change.bearerFile { try request.readToken(of: file) }
    if let group = change.group {
      try roots?.checkRegrouping(of: request)
      try request.join(group: group)
    }
    if let rate = change.rateLimit { try request.limitRate(to: rate) }
    if let every = change.every {
      request.repetition =
        every.isEmpty ? nil : try Problem.checked(try TransferRequest.repetition(every))
    }
    if let time = change.startsAt {
      request.startSeconds = try Problem.checked(try TransferRequest.startTime(time))
    }
    self = request
  }
}
