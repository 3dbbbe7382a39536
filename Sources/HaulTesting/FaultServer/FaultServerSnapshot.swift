/// The statistics of a fault server at one moment.
package struct FaultServerSnapshot: Sendable {
  package struct Counters: Codable, Hashable, Sendable {
    /// Body bytes handed to sockets.
    package internal(set) var bytes: Int64 = 0
    package internal(set) var requests = 0
    /// Responses that are in progress now.
    package internal(set) var inProgress = 0
    /// The most responses in progress at the same time.
    package internal(set) var maximumInProgress = 0
    /// Responses that a stall holds now.
    package internal(set) var held = 0
  }

  /// Every request since the start, or since the last reset of the statistics, in order of arrival.
  package internal(set) var requests: [RequestRecord] = []
  package internal(set) var counters: [String: Counters] = [:]
  /// The counters of all resources together.
  package internal(set) var total = Counters()
  package internal(set) var connectionsOpened = 0
  package internal(set) var connectionsOpen = 0

  package func requests(_ path: String) -> [RequestRecord] {
    requests.filter { $0.path == path }
  }

  /// Body bytes of the resource that were handed to sockets.
  package func bytesSent(_ path: String) -> Int64 { counters[path]?.bytes ?? 0 }
  package func requestCount(_ path: String) -> Int { counters[path]?.requests ?? 0 }
  package func inProgress(_ path: String) -> Int { counters[path]?.inProgress ?? 0 }
  package func maximumInProgress(_ path: String) -> Int {
    counters[path]?.maximumInProgress ?? 0
  }
  package func held(_ path: String) -> Int { counters[path]?.held ?? 0 }

  mutating func change(_ path: String, _ body: (inout Counters) -> Void) {
    body(&counters[path, default: Counters()])
    body(&total)
    total.maximumInProgress = max(total.maximumInProgress, total.inProgress)
  }
}
