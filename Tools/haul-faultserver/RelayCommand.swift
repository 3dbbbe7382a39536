import ArgumentParser
import HaulTesting

struct RelayCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "relay",
    abstract: "Relays connections to a server like a slow network, until SIGTERM.",
    discussion: """
      Prints {"port":N} when ready, and what it saw as one JSON object at the end. Rates are bytes \
      per second of what the server sends.
      """)

  @Option(help: "The server: HOST:PORT.")
  var to: Endpoint

  @Option(help: "The port; 0 for any.")
  var port = 0

  @Option(help: "Round trip in milliseconds; half of it is added each way.")
  var roundTrip: Int64 = 0

  @Option(help: "The most bytes in flight on each connection.")
  var window: Int?

  @Option(help: "The rate of each connection.")
  var rate: Int64?

  @Option(help: "The rate of one connection, counted from 1: NUMBER:RATE.")
  var rateOf: [NumberAndRate] = []

  @Option(help: "The rate of all connections together.")
  var total: Int64?

  @Option(help: "The total rate while more than NUMBER connections are open: NUMBER:RATE.")
  var totalAbove: [NumberAndRate] = []

  @Option(help: "The chance of a reset after each 64 KiB of a connection, 0 to 1.")
  var resetProbability = 0.0

  @Option(help: "The seed of the resets.")
  var seed: UInt64 = 1

  func validate() throws {
    let rates = [rate, total].compactMap(\.self) + (rateOf + totalAbove).map(\.rate)
    guard rates.allSatisfy({ $0 > 0 }) else { throw ValidationError("a rate is above 0") }
    guard window ?? 1 > 0 else { throw ValidationError("a window is above 0") }
    guard 0...3_600_000 ~= roundTrip else { throw ValidationError("a round trip is 0 to 1 h") }
    guard 0...1 ~= resetProbability else { throw ValidationError("a probability is 0 to 1") }
    guard total != nil || totalAbove.isEmpty else {
      throw ValidationError("--total-above needs --total")
    }
  }

  private var rules: RelayRules {
    var rules = RelayRules()
    rules.roundTrip = .milliseconds(roundTrip)
    rules.window = window ?? rules.window
    rules.rate = rate
    rules.rates = table(rateOf)
    rules.total = total.map { RelayRules.TotalRate($0, above: table(totalAbove)) }
    rules.resetProbability = resetProbability
    rules.seed = seed
    return rules
  }

  private func table(_ pairs: [NumberAndRate]) -> [Int: Int64] {
    Dictionary(pairs.map { ($0.number, $0.rate) }) { $1 }
  }

  func run() async throws {
    let termination = TerminationSignals()
    let relay = try await Relay.start(rules, to: to.host, port: to.port, listeningOn: port)
    try StandardOutput.writeLine(Listening(port: relay.port))
    await termination.waitForFirst()
    let seen = relay.snapshot
    try await relay.shutdown()
    try StandardOutput.writeLine(seen)
  }
}

/// `HOST:PORT`.
struct Endpoint: ExpressibleByArgument {
  let host: String
  let port: Int

  init?(argument: String) {
    guard let colon = argument.lastIndex(of: ":"), colon != argument.startIndex,
      let port = Int(argument[argument.index(after: colon)...]), 1...65535 ~= port
    else { return nil }
    host = String(argument[..<colon])
    self.port = port
  }
}

/// `NUMBER:RATE`.
struct NumberAndRate: ExpressibleByArgument {
  let number: Int
  let rate: Int64

  init?(argument: String) {
    let parts = argument.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, let number = Int(parts[0]), number > 0, let rate = Int64(parts[1])
    else { return nil }
    self.number = number
    self.rate = rate
  }
}
