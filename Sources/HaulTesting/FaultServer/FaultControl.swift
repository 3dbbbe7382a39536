import FoundationEssentials

/// The endpoints under `/_control/`, for programs that control the server from outside.
struct FaultControl {
  static let prefix = "/_control/"

  let state: FaultServerState

  private struct Statistics: Encodable {
    var bytes: Int64
    var requests: Int
    var maximumInProgress: Int
    var connections: Int
    var paths: [String: FaultServerSnapshot.Counters]
  }

  func answer(method: String, target: String, body: [UInt8]) -> Answer {
    let name = FaultServerState.path(of: target).dropFirst(Self.prefix.count)
    switch (method, name) {
    case ("GET", "stats"): return statistics()
    case ("POST", "reset-stats"):
      state.resetStatistics()
      return Self.simple(200, "{}\n")
    case ("POST", "release"):
      return Self.simple(200, "{\"released\":\(state.release(nil))}\n")
    case ("POST", "script"): return replaceScript(body)
    default: return Self.simple(404, "no such control\n")
    }
  }

  private func statistics() -> Answer {
    let snapshot = state.snapshot
    let statistics = Statistics(
      bytes: snapshot.total.bytes, requests: snapshot.requests.count,
      maximumInProgress: snapshot.total.maximumInProgress,
      connections: snapshot.connectionsOpened, paths: snapshot.counters)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    do {
      return Self.simple(
        200, String(decoding: try encoder.encode(statistics), as: UTF8.self) + "\n")
    } catch {
      return Self.simple(500, "\(error)\n")
    }
  }

  private func replaceScript(_ body: [UInt8]) -> Answer {
    do {
      state.replace(try FaultScript(json: body))
      return Self.simple(200, "{}\n")
    } catch {
      return Self.simple(400, "\(error)\n")
    }
  }

  static func simple(_ status: Int, _ text: String, hasBody: Bool = true) -> Answer {
    let body = Array(text.utf8)
    let head = [
      "HTTP/1.1 \(status) Control", "Content-Type: application/json",
      "Content-Length: \(body.count)", "", "",
    ].joined(separator: "\r\n")
    return Answer(status: status, head: Array(head.utf8), body: hasBody ? [.bytes(body)] : [])
  }
}

extension FaultScript {
  /// Reads a script from its JSON form.
  /// - Throws: `DecodingError`.
  package init(json: some Sequence<UInt8>) throws {
    self = try JSONDecoder().decode(FaultScript.self, from: Data(json))
  }

  /// The JSON form, indented.
  package func json() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(self))
  }
}
