import HaulCore
import OrderedCollections

/// The rows of a list, off the main actor, and the changes that the main actor does not know yet.
struct ListModel: Sendable {
  typealias Row = TransferList.Row

  private static let pageSize = 512
  /// The group whose members it shows; nil for the whole list.
  private let group: String?
  /// Transfers that are not in that group, so that their records are read once.
  private var others: Set<TransferID> = []
  private var rows: [TransferID: Row] = [:]
  private var changed: OrderedSet<TransferID> = []
  private var removed: Set<TransferID> = []
  private var isReset = false
  /// Whether the order of the rows may have changed.
  private(set) var mayHaveNewOrder = false

  init(group: String? = nil) { self.group = group }

  mutating func apply(_ events: [QueueEvent], _ store: any Store) async {
    for event in events {
      switch event {
      case .reset(let snapshot): await reset(snapshot, store)
      case .transfer(let event):
        switch event.kind {
        case .removed: remove(event.id)
        case .moved: mayHaveNewOrder = true
        default:
          if others.contains(event.id), !event.kind.isSnapshot { continue }
          if rows[event.id] == nil || event.kind.isSnapshot { await add(event, store) }
          guard rows[event.id] != nil else { continue }
          rows[event.id]?.apply(event.kind)
          changed.append(event.id)
        }
      }
    }
  }

  /// What has changed since the last call.
  /// - Parameter order: the order of the whole list, if it may have changed.
  mutating func takeUpdate(isLast: Bool = false, order: [TransferID]? = nil) -> ListUpdate {
    defer { (changed, removed, isReset, mayHaveNewOrder) = ([], [], false, false) }
    return ListUpdate(
      isReset: isReset, isLast: isLast, changed: changed.compactMap { rows[$0] },
      removed: removed, order: order)
  }

  private mutating func reset(_ snapshot: QueueSnapshot, _ store: any Store) async {
    (rows, changed, removed, isReset) = ([:], [], [], true)
    let members = snapshot.transfers.filter { group == nil || $0.group == group }
    others = group == nil ? [] : Set(snapshot.transfers.map(\.id)).subtracting(members.map(\.id))
    var rest = members[...]
    while !rest.isEmpty {
      let page = rest.prefix(Self.pageSize)
      rest = rest.dropFirst(page.count)
      // A row without its address is better than none.
      let records = (try? await store.records(page.map(\.id))) ?? []
      let known = Dictionary(records.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
      for summary in page {
        var row = Row(id: summary.id, name: "\(summary.id)", state: summary.state)
        if let record = known[summary.id] { row.apply(record) }
        (row.state, row.waitReason) = (summary.state, summary.waitReason)
        rows[summary.id] = row
        changed.append(summary.id)
      }
    }
  }

  private mutating func add(_ event: TransferEvent, _ store: any Store) async {
    var row = Row(id: event.id, name: "\(event.id)", state: .queued)
    // A row without its address is better than none.
    let record = (try? await store.records([event.id]))?.first
    if let group, record.map(\.request.group) ?? event.group != group {
      remove(event.id)
      others.insert(event.id)
      return
    }
    others.remove(event.id)
    if let record { row.apply(record) }
    row.state = .queued
    rows[event.id] = row
  }

  private mutating func remove(_ id: TransferID) {
    others.remove(id)
    // A row that was never shown need not be removed.
    if rows.removeValue(forKey: id) != nil { removed.insert(id) }
    changed.remove(id)
  }
}

extension TransferEvent.Kind {
  /// Whether it is a snapshot: the request may have changed.
  fileprivate var isSnapshot: Bool { if case .snapshot = self { true } else { false } }
}

extension TransferList.Row {
  init(_ record: TransferRecord, _ snapshot: TransferSnapshot) {
    self.init(id: record.id, name: "\(record.id)")
    apply(record)
    apply(.snapshot(snapshot))
    if state == .running { phase = snapshot.phase }
  }

  /// Takes the length that an earlier run learned, if it failed.
  mutating func note(length: Int64?) {
    guard state == .failed, bytes > 0, total == nil, let length, length > 0 else { return }
    (total, fraction) = (length, Double(bytes) / Double(length))
  }

  fileprivate mutating func apply(_ record: TransferRecord) {
    (identifier, group) = (record.request.identifier, record.request.group)
    switch record.request.work {
    case .download(let download):
      address = download.url.redacted
      name = FileName(download.url).text
      if case .file(let path) = download.destination { apply(path: path) }
    case .upload(let upload):
      address = upload.url.redacted
      name = FileName(upload.url).text
      if let path = upload.source.files.first { apply(path: path) }
    case .step(let step):
      switch step.action {
      case .named(let text, _): name = text
      case .program(let arguments, _): apply(path: arguments.first ?? name)
      }
    }
    if let result = record.result, record.storedState.status.end != nil { apply(result) }
  }

  fileprivate mutating func apply(_ kind: TransferEvent.Kind) {
    switch kind {
    case .added(let target): if let target { apply(path: target) }
    case .target(let path, _): apply(path: path)
    case .phase(let phase, _): apply(phase)
    case .waiting(let reason): wait(reason)
    case .paused: stop(.paused)
    case .resumed:
      stop(.queued)
      (error, path) = (nil, nil)
    case .progress(let progress): apply(progress)
    case .attempt: rate = 0
    case .finished(let result): apply(result)
    case .snapshot(let snapshot):
      (state, waitReason) = (snapshot.state, snapshot.summary.waitReason)
      if let progress = snapshot.progress { apply(progress) }
    case .limited, .connections, .moved, .removed: break
    }
  }

  private mutating func apply(_ phase: TransferEvent.Phase) {
    guard state == .queued || state == .running else { return }
    if phase == .restarted { (bytes, fraction) = (0, nil) }
    (state, self.phase, waitReason) = (.running, phase, nil)
  }

  private mutating func wait(_ reason: WaitReason) {
    guard state == .queued || state == .running else { return }
    stop(.queued)
    waitReason = reason
  }

  private mutating func apply(_ progress: TransferProgress) {
    (bytes, total, fraction, rate) =
      (progress.bytes, progress.total, progress.fraction, progress.rate)
  }

  private mutating func apply(_ result: TransferResult) {
    stop(result.state.ofList)
    error = result.error
    // A failed download keeps its bytes.
    if result.state == .failed, address != nil, result.bytes > 0 { bytes = result.bytes }
    if result.error?.cause == .lostBytes { (bytes, fraction) = (0, nil) }
    guard result.state == .completed else { return }
    if let path = result.path {
      self.path = path
      apply(path: path)
    }
    if address != nil { (bytes, total) = (result.bytes, result.bytes) }
    fraction = 1
  }

  private mutating func stop(_ state: TransferState) {
    (self.state, phase, waitReason, rate) = (state, nil, nil, 0)
  }

  /// Takes the last component of a path as the name.
  private mutating func apply(path: String) {
    if let last = path.lastPathName { name = last }
  }
}
