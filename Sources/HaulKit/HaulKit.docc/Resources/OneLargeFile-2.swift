import HaulKit

let manager = try TransferManager()
let url = try ResourceURL("https://example.org/image.iso")

let result = try await manager.download(url, to: .file("image.iso"), onCancel: .pause) { progress in
  print(progress.percent.map { "\($0) %" } ?? "…", "over", progress.connections, "connections")
}
print(result.bytes, "bytes,", result.reused, "of them from before")
await manager.shutdown()
