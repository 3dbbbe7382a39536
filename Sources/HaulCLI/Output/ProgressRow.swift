import HaulCore

/// The columns of one progress line, before they are fitted into a width.
struct ProgressRow {
  private let name: String
  /// What stands for a name that would be cut.
  private let shortName: String
  private let percent: Int?
  private let bytes: String
  private let speed: String
  private let timeLeft: String
  private let connections: String

  init(_ file: FileProgress) {
    name = TerminalText.escaped(file.name)
    shortName = name
    let progress = file.progress
    percent = progress?.percent
    bytes = progress.map(Self.bytes) ?? ""
    if file.phase == .transferring {
      connections = Self.connections(progress?.connections ?? 0)
      speed = progress.map { Units.rate($0.rate) } ?? ""
      timeLeft = progress?.secondsLeft.map(Units.clock) ?? ""
    } else {
      speed = file.phase.rawValue
      timeLeft = ""
      connections = ""
    }
  }

  /// The sum of all files.
  init(totalOf board: ProgressBoard) {
    let sum = board.total
    name = "\(Units.count(board.ended)) of \(Units.count(board.expected)) files"
    shortName = "\(board.ended)/\(board.expected)"
    percent = sum.percent
    bytes = Self.bytes(sum)
    speed = Units.rate(sum.rate)
    timeLeft = sum.secondsLeft.map(Units.clock) ?? ""
    connections = Self.connections(sum.connections)
  }

  /// The richest arrangement that leaves the name a readable width.
  func line(room: Int, style: FrameStyle) -> ProgressFrame.Line {
    let nameCells = TerminalText.width(name)
    for columns in Self.arrangements {
      let fixed = columns.map { cells(of: $0) + 2 }.reduce(0, +)
      let wanted = min(nameCells, Self.leastName)
      guard fixed + wanted <= room else { continue }
      return line(columns: columns, room: room, fixed: fixed, style: style)
    }
    let text = TerminalText.cut(percent.map { "\($0)%" } ?? shortName, to: room)
    return ProgressFrame.Line(text: text, cells: TerminalText.width(text))
  }

  private enum Column { case bar, percent, bytes, speed, timeLeft, connections }

  private static let arrangements: [[Column]] = [
    [.bar, .percent, .bytes, .speed, .timeLeft, .connections],
    [.percent, .bytes, .speed, .timeLeft, .connections],
    [.percent, .bytes, .speed, .timeLeft],
    [.percent, .speed, .timeLeft],
    [.percent, .speed],
    [.percent],
  ]

  private static let leastName = 12
  private static let leastBar = 6
  private static let mostBar = 40

  /// Fixed widths, so that columns stand still while numbers change.
  private func cells(of column: Column) -> Int {
    switch column {
    case .bar: Self.leastBar
    case .percent: 4
    case .bytes: 21
    case .speed: 12
    case .timeLeft: 8
    case .connections: 4
    }
  }

  private func line(
    columns: [Column], room: Int, fixed: Int, style: FrameStyle
  ) -> ProgressFrame.Line {
    let spare = room - fixed
    let nameCells = TerminalText.width(name)
    let hasBar = columns.contains(.bar)
    let nameRoom = hasBar ? min(spare, max(24, spare / 2)) : min(spare, 48)
    let barRoom = Self.leastBar + min(Self.mostBar - Self.leastBar, spare - nameRoom)
    let shownName = TerminalText.cut(nameCells <= nameRoom ? name : shortName, to: nameRoom)
    var text = shownName + spaces(nameRoom - TerminalText.width(shownName))
    var used = nameRoom
    for column in columns {
      text += "  "
      let width = column == .bar ? barRoom : cells(of: column)
      text += column == .bar ? bar(width, style) : spaces(width - value(column).count)
      if column != .bar { text += value(column) }
      used += 2 + width
    }
    return ProgressFrame.Line(text: text, cells: used)
  }

  private func value(_ column: Column) -> String {
    switch column {
    case .bar: ""
    case .percent: percent.map { "\($0)%" } ?? ""
    case .bytes: bytes
    case .speed: speed
    case .timeLeft: timeLeft
    case .connections: connections
    }
  }

  private func bar(_ width: Int, _ style: FrameStyle) -> String {
    let filled = (percent ?? 0) * width / 100
    let done = String(repeating: style.unicode ? "━" : "#", count: filled)
    let rest = String(repeating: style.unicode ? "─" : "-", count: width - filled)
    return style.colored ? "\u{1B}[32m\(done)\u{1B}[0m\(rest)" : done + rest
  }

  private func spaces(_ count: Int) -> String { String(repeating: " ", count: max(0, count)) }

  private static func bytes(_ progress: Progress) -> String {
    let there = Units.bytes(progress.bytes)
    return progress.total.map { "\(there)/\(Units.bytes($0))" } ?? there
  }

  private static func connections(_ count: Int) -> String {
    if count <= 0 { return "" }
    return count < 1000 ? "x\(count)" : "999+"
  }
}
