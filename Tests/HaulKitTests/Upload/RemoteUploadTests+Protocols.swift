import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Uploads of a remote resource by other protocols.
extension RemoteUploadTests {
  @Test func `Any resource goes to other protocols as a stream`() async throws {
    let store = FakeS3()
    let source = FakeSource(2 * Self.part, to: store)
    let upload = UploadRequest(
      from: DownloadRequest(url: try ResourceURL("http://s.example/f"), to: .stream),
      to: try ResourceURL("http://h.example/f"))
    let manager = try Self.manager(source, Self.disk())
    // The store refuses it, because it is not signed; but it got the bytes.
    let transfer = try await manager.add(TransferRequest(.upload(upload)))
    await #expect(throws: TransferError.self) { try await transfer.result }
    await manager.shutdown()
    #expect(store.snapshot.requests.map(\.method) == ["HEAD", "PUT"])
    #expect(store.snapshot.requests.last?.body == source.content)
  }
}
