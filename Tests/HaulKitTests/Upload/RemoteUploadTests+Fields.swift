import Foundation
import HaulCore
import HaulKit
import Testing

/// Which fields the object gets from the source.
extension RemoteUploadTests {
  @Test(arguments: [1, 2 * part], [false, true])
  func `The object has what the source says of its bytes`(
    length: Int, isStream: Bool
  ) async throws {
    let store = FakeS3()
    let source = FakeSource(length, to: store) { request, _ in
      // What is asked for a range is not what has all bytes.
      isStream && request.firstByte != nil ? .status(403, [("Content-Language", "fr")]) : nil
    }
    source.change {
      ($0.type, $0.fields) = (
        "text/x-own", [("Content-Language", "de"), ("Set-Cookie", "a=b")]
      )
      // A body with a coding has no ranges.
      if isStream { $0.fields = [("Content-Encoding", "gzip"), ("Content-Language", "de")] }
    }
    #expect(try await upload(source).state == .completed)
    let creation = try #require(
      store.snapshot.requests.first { $0.names == ["uploads"] || $0.method == "PUT" })
    #expect(creation.headers["Content-Type"] == "text/x-own")
    #expect(creation.headers["Content-Language"] == "de")
    #expect(creation.headers["Content-Encoding"] == (isStream ? "gzip" : nil))
    #expect(creation.headers["Set-Cookie"] == nil)
  }

  @Test(arguments: [1, part, 2 * part], [false, true])
  func `A digest that the source's server states is compared before the object is made`(
    length: Int, isStream: Bool
  ) async throws {
    for isRight in [true, false] {
      let store = FakeS3()
      let source = FakeSource(length, to: store) { _, _ in isStream ? .whole : nil }
      let digest = Self.sha256(isRight ? source.content : [1])[0]
      let text = Data(digest.bytes).base64EncodedString()
      source.change { $0.fields = [("Repr-Digest", "sha-256=:\(text):")] }
      if isRight {
        #expect(try await upload(source).state == .completed)
        #expect(store.snapshot.objects[Self.path]?.bytes == source.content)
      } else {
        #expect(try await failure(source).code == .checksumMismatch)
        #expect(store.snapshot.objects.isEmpty && store.snapshot.uploads.isEmpty)
      }
    }
  }
}
