import HaulControl
import HaulCore
import HaulKit

/// The selection of what has ended.
extension ControlAPI {
  /// What `remove` is for, if only some ends are.
  func ended(_ body: CommandBody) async throws -> [TransferID] {
    var selection = body.transfers
    (selection.ends, selection.endedBefore) = (nil, nil)
    guard body.command == .remove, selection.ids == nil else {
      throw Problem.badRequest(
        "'ends' and 'ended_before' are for 'remove', of a group or of all")
    }
    let ways = Set(body.transfers.ends ?? [.completed, .failed, .cancelled])
    let members = Set(await manager.coordinator.settled(ways, ofWholeGroups: false))
    let ids = try await ids(of: selection).filter(members.contains)
    guard let time = body.transfers.endedBefore else { return ids }
    return try await manager.coordinator.ends(of: ids).filter { $0.time.map { $0 < time } ?? false }
      .map(\.id)
  }
}

/// Pages of the list.
extension ControlAPI {
  /// The ids of a page, and one more.
  func ids(of query: TransferListQuery, after id: TransferID?) async throws -> [TransferID] {
    let (filter, count) = (query.filter, query.limit + 1)
    guard query.fromEnd || !filter.states.isEmpty || filter.host != nil else {
      return try await manager.summaries(after: id, atMost: count, of: filter.group).map(\.id)
    }
    return await manager.coordinator.page(
      after: id, atMost: count, fromEnd: query.fromEnd,
      where: filter.isEmpty ? nil : { filter.takes($0) })
  }
}
