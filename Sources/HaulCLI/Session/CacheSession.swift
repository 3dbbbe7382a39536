import FoundationEssentials
import HaulCache
import HaulControl
import HaulCore

/// Runs `haul cache list`, `size` and `purge`.
struct CacheSession {
  let plan: CachePlan
  let context: ProcessContext

  func run() async -> ExitStatus {
    do {
      let directory = try UserCache.directory(context.environment)
      // What only looks does not make a directory.
      let exists = FileManager.default.fileExists(atPath: directory)
      if exists { try PrivateDirectory.prepare(directory, "cache", variable: "XDG_CACHE_HOME") }
      let inventory = CacheInventory(UserCache.configuration, at: directory)
      return try await perform(on: inventory, exists: exists, in: directory)
    } catch let error as TransferError {
      await OutputStream.standardError.write(Messages.usage(error.message) + "\n")
    } catch {
      await OutputStream.standardError.write(Messages.usage("\(error)") + "\n")
    }
    return .failed
  }

  private func perform(
    on inventory: CacheInventory, exists: Bool, in directory: String
  ) async throws -> ExitStatus {
    let now = context.clock.wallSeconds
    switch plan {
    case .list(let json):
      let entries = exists ? try await inventory.entries(at: now) : []
      if json { return await show(try CacheOutput.lines(entries, at: now)) }
      guard !entries.isEmpty else { return await show("the cache is empty\n") }
      let width = context.standardOutputIsTerminal ? context.size.width : nil
      return await show(
        CacheOutput.table(entries, at: now).text(width: width, mark: context.style.mark))
    case .size(let json):
      let (count, bytes) = exists ? try await inventory.size(at: now) : (0, 0)
      let size = CacheOutput.Size(
        entries: count, bytes: bytes, limit: inventory.limit, directory: directory)
      return await show(json ? try JSONLines.line(of: size) : size.text)
    case .purge(let selection, let quiet):
      let removed = exists ? try await inventory.remove(selection, at: now) : (0, 0)
      if !quiet { await OutputStream.standardError.write(CacheOutput.removed(removed)) }
      return .completed
    }
  }

  private func show(_ text: String) async -> ExitStatus {
    await OutputStream.standardOutput.write(text).status
  }
}
