import HaulKit
import HaulLibC

/// Releases managers without a shutdown: after a download, after a download that threw, and without
/// a download.
///
/// It prints the most descriptors and threads that such a manager left behind. It waits for
/// background work to end; the caller kills it if that never happens.
struct DeallocatedManagers {
  let drill: Drill
  let count: Int

  func run() async throws {
    // The first manager creates the event loops and threads that all managers share.
    try await makeOne("/whole", expecting: nil)
    let before = try await settled()
    for _ in 0..<count { _ = try TransferManager() }
    for _ in 0..<count { try await makeOne("/whole", expecting: nil) }
    for _ in 0..<count { try await makeOne("/missing", expecting: .notFound) }
    var left = ProcessCounts.now
    while left.descriptors > before.descriptors || left.threads > before.threads {
      try await Task.sleep(for: .milliseconds(20))
      left = .now
    }
    announce("left \(left.descriptors - before.descriptors) \(left.threads - before.threads)")
  }

  private func makeOne(_ path: String, expecting code: TransferError.Code?) async throws {
    let manager = try TransferManager()
    do throws(TransferError) {
      let url = try ResourceURL("\(drill.address)\(path)")
      let request = TransferRequest.download(url, to: .directory("\(drill.directory)/files")) {
        $0.ifExists = .overwrite
      }
      try await manager.download(request)
    } catch {
      guard error.code == code else { throw error }
    }
  }

  /// The counts when they no longer change.
  private func settled() async throws -> ProcessCounts {
    var (left, times) = (ProcessCounts.now, 0)
    while times < 10 {
      try await Task.sleep(for: .milliseconds(20))
      let now = ProcessCounts.now
      times = now == left ? times + 1 : 0
      left = now
    }
    return left
  }

  /// The counts of a process.
  private struct ProcessCounts: Equatable {
    let descriptors: Int
    let threads: Int

    static var now: ProcessCounts {
      ProcessCounts(descriptors: count("fd"), threads: count("task"))
    }

    private static func count(_ what: String) -> Int {
      guard let directory = opendir("/proc/self/\(what)") else { return 0 }
      defer { closedir(directory) }
      var count = 0
      while readdir(directory) != nil { count += 1 }
      return count
    }
  }
}
