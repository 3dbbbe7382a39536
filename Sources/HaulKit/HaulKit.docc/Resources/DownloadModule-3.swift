import HaulKit
import HaulStore

actor Downloads {
  private let manager: TransferManager

  init(directory: String) async throws {
    manager = try await TransferManager(directory: directory)
  }

  func add(_ address: String, as name: String, to path: String) async throws -> Transfer {
    var request = try TransferRequest.download(ResourceURL(address), to: .file(path))
    request.identifier = name
    request.group = "library"
    return try await manager.add(request)
  }

  func pauseAll() async throws { _ = try await manager.pause(.all) }
  func resumeAll() async throws { _ = try await manager.resume(.all) }
  func retryFailed() async throws { _ = try await manager.retry(.filter { $0.state == .failed }) }
  func cancelLibrary() async throws { _ = try await manager.cancel(.group("library")) }
  func close() async { await manager.shutdown() }
}
