import HaulKit

let manager = try TransferManager()
let url = try ResourceURL("https://example.org/image.iso")
let digest = Checksum("sha-256=9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")

let request = TransferRequest.download(url, to: .file("image.iso")) {
  $0.checksums = [digest].compactMap { $0 }
  $0.connections = 16
  $0.maximumSize = 8 << 30
}
do {
  print(try await manager.download(request).path ?? "")
} catch {
  print("\(error.code): \(error.message)")
}
await manager.shutdown()
