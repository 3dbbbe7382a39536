import FoundationEssentials
import HaulCore
import Testing

/// Destinations from Foundation's URLs.
@Suite struct DestinationTests {
  @Test func `A file URL gives its decoded path`() throws {
    let url = URL(filePath: "/tmp/a b/ü%20.bin")
    #expect(try DownloadRequest.Destination.file(url) == .file("/tmp/a b/ü%20.bin"))
    let directory = URL(filePath: "/tmp/d", directoryHint: .isDirectory)
    #expect(try DownloadRequest.Destination.directory(directory) == .directory("/tmp/d/"))
  }

  @Test func `A URL that is not a file URL is refused`() throws {
    let url = try #require(URL(string: "https://host/file"))
    let error = #expect(throws: TransferError.self) {
      try DownloadRequest.Destination.file(url)
    }
    #expect(error?.code == .badName)
    #expect(throws: TransferError.self) { try DownloadRequest.Destination.directory(url) }
  }
}
