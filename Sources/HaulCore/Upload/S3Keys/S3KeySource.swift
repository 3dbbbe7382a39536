/// Where the access key of an S3 store comes from, if it is a role's. It has no secret: who has the
/// source asks for the key when a request is signed, and again before the key expires.
package struct S3KeySource: Sendable, Hashable, Codable {
  package enum Place: Sendable, Hashable, Codable {
    /// The token service gives a key for a role to who has the token in this file.
    case webIdentity(role: String, session: String?, tokenFile: String)
    /// A profile of the files of the AWS tools, which are read each time.
    case profile(name: String, configuration: String?, credentials: String?)
    /// The service of a container, whose address is in the environment of the process that asks.
    case container
    /// The metadata service of the machine.
    case instance(address: ResourceURL)

    enum CodingKeys: String, CodingKey {
      case webIdentity = "web_identity"
      case profile, container, instance
    }

    enum WebIdentityCodingKeys: String, CodingKey {
      case role, session
      case tokenFile = "token_file"
    }
  }

  package var place: Place
  /// The region of the token service.
  package var region: String
  /// The address of the token service; nil for Amazon's in that region.
  package var tokenService: ResourceURL?

  enum CodingKeys: String, CodingKey {
    case place, region
    case tokenService = "token_service"
  }

  package init(_ place: Place, region: String, tokenService: ResourceURL? = nil) {
    (self.place, self.region, self.tokenService) = (place, region, tokenService)
  }

  /// For messages.
  package var name: String {
    switch place {
    case .webIdentity: "the web identity of the environment"
    case .profile(let name, _, _): "the profile \(TerminalText.escaped(name))"
    case .container: "the container's service"
    case .instance: "the metadata service of this machine"
    }
  }

  /// The files that it names.
  var paths: [String] {
    switch place {
    case .webIdentity(_, _, let file): [file]
    case .profile(_, let configuration, let credentials):
      [configuration, credentials].compactMap(\.self)
    case .container, .instance: []
    }
  }

  /// The same source, with each path changed.
  func mappingPaths(_ change: (String) -> String) -> S3KeySource {
    var source = self
    switch place {
    case .webIdentity(let role, let session, let file):
      source.place = .webIdentity(role: role, session: session, tokenFile: change(file))
    case .profile(let name, let configuration, let credentials):
      source.place = .profile(
        name: name, configuration: configuration.map(change), credentials: credentials.map(change))
    case .container, .instance: break
    }
    return source
  }
}

/// How a key is got: what a source means at the moment.
package indirect enum S3KeyQuestion: Sendable, Hashable {
  /// It is known.
  case known(S3Credentials)
  /// The token service is asked for the key of a role, with the token in a file.
  case webIdentity(S3Role, tokenFile: String)
  /// The token service is asked for the key of a role, with another key.
  case role(S3Role, with: S3KeyQuestion)
  /// A program says it, by its name and its arguments.
  case program([String])
  case container
  case instance(ResourceURL)

  package var asksTokenService: Bool {
    switch self {
    case .webIdentity, .role: true
    case .known, .program, .container, .instance: false
    }
  }
}

/// A role of Amazon's, and for what it is taken.
package struct S3Role: Sendable, Hashable {
  /// Its ARN.
  package var name: String
  /// What the logs of Amazon call the use of it.
  package var session: String
  package var externalID: String?
  /// How long its key is valid, in seconds; nil for the usual time.
  package var seconds: Int?

  package init(
    _ name: String, session: String? = nil, externalID: String? = nil, seconds: Int? = nil
  ) {
    (self.name, self.session) = (name, session ?? "haul")
    (self.externalID, self.seconds) = (externalID, seconds)
  }
}
