import HaulCore

/// The columns of one progress line, before they are fitted to a width.
struct ProgressRow {
  private let name: String
  /// Replaces a name that would be cut.
  private let shortName: String
  private let percent: Int?
  private let bytes: String
  private let speed: String
  private let timeLeft: String
  private let connections: String
  private var isTotal = false

  /// A text that replaces all numbers.
  private let note: String?

  /// - Parameter elapsed: since the run began.
  init(_ file: FileProgress, at elapsed: Duration) {
    name = TerminalText.escaped(file.name)
    shortName = name
    let progress = file.progress
    percent = progress?.percent
    bytes = progress.map(Self.bytes) ?? ""
    note = file.retry.map { Messages.wait($0.end - elapsed, reason: $0.reason) }
    if file.phase == .transferring {
      connections = Self.connections(progress?.connections ?? 0)
      speed = progress.map { Units.rate($0.rate) } ?? ""
      timeLeft = progress?.secondsLeft.map(Units.clock) ?? ""
    } else {
      speed = file.phase?.rawValue ?? "waiting"
      timeLeft = ""
      connections = ""
    }
  }

  /// The total of all files.
  init(totalOf model: ProgressModel) {
    let sum = model.total
    name = "\(Units.count(model.ended)) of \(Units.count(model.expected)) files"
    shortName = "\(model.ended)/\(model.expected)"
    percent = model.percent
    bytes = Self.bytes(sum)
    speed = Units.rate(sum.rate)
    timeLeft = model.secondsLeft.map(Units.clock) ?? ""
    connections = Self.connections(sum.connections)
    note = nil
    isTotal = true
  }

  /// The most columns that leave the bar and the name a readable width.
  func line(room: Int, style: FrameStyle) -> ProgressFrame.Line {
    if let note { return line(note: note, room: room, style: style) }
    for columns in isTotal ? Self.arrangementsOfTotal : Self.arrangements {
      let fixed = columns.map { cells(of: $0) + 2 }.reduce(0, +)
      if columns.contains(.bar) {
        let isLong = columns.count > Self.minimumColumns && columns != Self.shortTotal
        let least = isLong ? Self.goodBar : Self.minimumBar
        var bar = Self.barCells(spare: room - fixed)
        guard bar >= least, room - fixed - bar >= Self.minimumName else { continue }
        // "1 of 10 files" says more than a longer bar.
        let rest = room - fixed - TerminalText.width(name)
        if isTotal, rest >= Self.minimumBar { bar = min(bar, rest) }
        return line(columns: columns, nameRoom: room - fixed - bar, bar: bar, style: style)
      }
      guard fixed + min(TerminalText.width(name), Self.minimumName) <= room else { continue }
      return line(columns: columns, nameRoom: min(room - fixed, 48), bar: 0, style: style)
    }
    let text = TerminalText.cut(
      percent.map { "\($0)%" } ?? shortName, to: room, mark: style.mark)
    return ProgressFrame.Line(text: text, cells: TerminalText.width(text))
  }

  private enum Column { case bar, percent, bytes, speed, timeLeft, connections }

  private static let arrangements: [[Column]] = [
    [.bar, .percent, .bytes, .speed, .timeLeft, .connections],
    [.bar, .percent, .bytes, .speed, .timeLeft],
    [.bar, .percent, .speed, .timeLeft, .connections],
    [.bar, .percent, .speed, .timeLeft],
    [.percent, .bytes, .speed, .timeLeft],
    [.percent, .speed, .timeLeft],
    [.percent, .speed],
    [.percent],
  ]

  /// The bytes of all files are worth more than a long bar; the columns after them stay below those
  /// of the files.
  private static let shortTotal: [Column] = [.bar, .bytes, .percent, .speed, .timeLeft]
  private static let arrangementsOfTotal =
    Array(arrangements.prefix(2)) + [shortTotal] + Array(arrangements.dropFirst(2))

  private static let minimumName = 12
  private static let minimumBar = 6
  private static let maximumBar = 60
  /// The width of a bar before another number is shown.
  private static let goodBar = 30
  /// This many columns stay beside a shorter bar.
  private static let minimumColumns = 4

  /// About two thirds of the width of bar and name.
  private static func barCells(spare: Int) -> Int {
    min(maximumBar, spare * 64 / 100, spare - minimumName)
  }

  /// Fixed widths, so that columns do not move while numbers change.
  private func cells(of column: Column) -> Int {
    switch column {
    case .bar: 0
    case .percent: 4
    case .bytes: 21
    case .speed: 12
    case .timeLeft: 8
    case .connections: 4
    }
  }

  private func line(
    columns: [Column], nameRoom: Int, bar barRoom: Int, style: FrameStyle
  ) -> ProgressFrame.Line {
    let fits = TerminalText.width(name) <= nameRoom
    let shownName = TerminalText.cutName(
      fits ? name : shortName, to: nameRoom, mark: style.mark)
    let lead = shownName + spaces(nameRoom - TerminalText.width(shownName))
    var parts = [ProgressFrame.Line.Part(text: lead, cells: nameRoom)]
    for column in columns {
      let width = column == .bar ? barRoom : cells(of: column)
      var text = value(column)
      if column != .bar {
        text = spaces(width - text.count) + text
      } else if percent == nil {
        // Without a length, the bytes show the progress.
        text = columns.contains(.bytes) ? "" : bytes
        text += spaces(width - text.count)
      } else {
        text = bar(width, style)
      }
      parts.append(.init(text: "  " + text, cells: 2 + width))
    }
    return ProgressFrame.Line(parts)
  }

  private func line(note: String, room: Int, style: FrameStyle) -> ProgressFrame.Line {
    let nameRoom = min(TerminalText.width(name), max(0, room - 2) / 3)
    let text =
      nameRoom < 4
      ? TerminalText.cut(note, to: room, mark: style.mark)
      : TerminalText.cut(
        "\(TerminalText.cutName(name, to: nameRoom, mark: style.mark))  \(note)", to: room,
        mark: style.mark)
    return ProgressFrame.Line(text: text, cells: TerminalText.width(text))
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

  private static func bytes(_ progress: TransferProgress) -> String {
    let there = Units.bytes(progress.bytes)
    return progress.total.map { "\(there)/\(Units.bytes($0))" } ?? there
  }

  private static func connections(_ count: Int) -> String {
    if count <= 0 { return "" }
    return count < 1000 ? "x\(count)" : "999+"
  }
}
