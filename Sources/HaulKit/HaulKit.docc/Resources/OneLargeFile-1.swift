import HaulKit

let manager = try TransferManager()
let url = try ResourceURL("https://example.org/image.iso")

let answer = try await manager.probe(DownloadRequest(url: url, to: .directory("downloads")))
print(answer.fileName, answer.length.map { "\($0) bytes" } ?? "of unknown length")
print("resumes after an interruption: \(answer.plan.resumes)")
await manager.shutdown()
