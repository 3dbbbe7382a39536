import HaulCore
import Testing

/// Where the services are that give keys.
@Suite struct S3KeyAddressTests {
  private static let full = "AWS_CONTAINER_CREDENTIALS_FULL_URI"
  private static let relative = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"

  @Test(arguments: [
    "https://keys.example/a", "http://127.0.0.1:81/a", "http://127.3.2.1/", "http://[::1]:81/a",
    "http://localhost/a", "http://keys.localhost/a", "http://169.254.170.2/v2",
    "http://169.254.170.23/v1",
    "http://[fd00:ec2::23]/v1",
  ])
  func `A container's service is this machine's, or has TLS`(address: String) throws {
    let found = try #require(try S3KeyAddress.container([Self.full: address]))
    #expect(found == (try ResourceURL(address)))
  }

  @Test(arguments: [
    "http://keys.example/a", "http://169.254.169.254/a", "http://10.0.0.1/",
    "http://[fd00:ec2::24]/",
    "http://127.0.0.1.example/", "http://localhost.example/", "http://169.254.170.2@keys.example/",
    "ftp://127.0.0.1/", "/v2",
  ])
  func `Any other is refused, without its address`(address: String) {
    let error = #expect(throws: TransferError.self) {
      try S3KeyAddress.container([Self.full: address])
    }
    #expect(error?.message.contains(Self.full) == true)
    #expect(error?.message.contains(address) == false)
  }

  @Test func `The relative address comes first, and is a path of one host`() throws {
    let both = [Self.relative: "/v2/credentials/x?y", Self.full: "https://keys.example/"]
    let found = try S3KeyAddress.container(both)
    #expect(found?.absoluteString == "http://169.254.170.2/v2/credentials/x?y")
    #expect(throws: TransferError.self) {
      try S3KeyAddress.container([Self.relative: "@keys.example/"])
    }
    #expect(try S3KeyAddress.container([:]) == nil)
    #expect(try S3KeyAddress.container([Self.relative: "", Self.full: ""]) == nil)
  }

  @Test(
    arguments: [
      ([:], "http://169.254.169.254/"),
      (["AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE": "IPv6"], "http://[fd00:ec2::254]/"),
      (["AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:81/"], "http://127.0.0.1:81/"),
      (["AWS_EC2_METADATA_DISABLED": "false"], "http://169.254.169.254/"),
      (["AWS_EC2_METADATA_DISABLED": "True"], nil),
    ] as [([String: String], String?)])
  func `The metadata service can be elsewhere, or not be asked`(
    environment: [String: String], address: String?
  ) throws {
    let found = try S3KeyAddress.instance(environment)
    #expect(found == (try address.map { try ResourceURL($0) }))
  }
}
