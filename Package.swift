// swift-tools-version: 6.2
import PackageDescription

// Another compiler may warn of more: that must not end the build of someone who only uses Haul.
let strictness: [SwiftSetting] =
  Context.environment["HAUL_WARNINGS_ARE_ERRORS"] == nil ? [] : [.treatAllWarnings(as: .error)]

let settings: [SwiftSetting] =
  [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("ImmutableWeakCaptures"),
  ] + strictness

extension Target.Dependency {
  static let argumentParser = product(
    name: "ArgumentParser", package: "swift-argument-parser", condition: .when(traits: ["Program"]))
  static let asyncHTTPClient = product(name: "AsyncHTTPClient", package: "async-http-client")
  static let collections = product(name: "Collections", package: "swift-collections")
  static let deque = product(name: "DequeModule", package: "swift-collections")
  static let heap = product(name: "HeapModule", package: "swift-collections")
  static let orderedCollections = product(
    name: "OrderedCollections", package: "swift-collections")
  static let crypto = product(name: "Crypto", package: "swift-crypto")
  static let cryptoExtras = product(name: "CryptoExtras", package: "swift-crypto")
  static let grdb = product(
    name: "GRDB", package: "GRDB.swift", condition: .when(traits: ["Database"]))
  static let hummingbird = product(
    name: "Hummingbird", package: "hummingbird", condition: .when(traits: ["Program"]))
  static let hummingbirdCore = product(
    name: "HummingbirdCore", package: "hummingbird", condition: .when(traits: ["Program"]))
  static let coreMetrics = product(name: "CoreMetrics", package: "swift-metrics")
  static let logging = product(name: "Logging", package: "swift-log")
  static let nioCore = product(name: "NIOCore", package: "swift-nio")
  static let nioConcurrency = product(name: "NIOConcurrencyHelpers", package: "swift-nio")
  static let nioEmbedded = product(name: "NIOEmbedded", package: "swift-nio")
  static let nioHPACK = product(name: "NIOHPACK", package: "swift-nio-http2")
  static let nioHTTP1 = product(name: "NIOHTTP1", package: "swift-nio")
  static let nioHTTPTypes = product(name: "NIOHTTPTypes", package: "swift-nio-extras")
  static let nioHTTP2 = product(name: "NIOHTTP2", package: "swift-nio-http2")
  static let nioPosix = product(name: "NIOPosix", package: "swift-nio")
  static let nioSSL = product(name: "NIOSSL", package: "swift-nio-ssl")
  static let nioTLS = product(name: "NIOTLS", package: "swift-nio")
  static let serviceLifecycle = product(
    name: "ServiceLifecycle", package: "swift-service-lifecycle")
  static let structuredHeaders = product(
    name: "StructuredFieldValues", package: "swift-http-structured-headers")
  static let asn1 = product(name: "SwiftASN1", package: "swift-asn1")
  static let x509 = product(name: "X509", package: "swift-certificates")
}

/// A program that shows the library from outside: it sees what is public only.
func example(
  _ name: String, with more: Target.Dependency..., exclude: [String] = [],
  resources: [Resource] = []
) -> Target {
  .executableTarget(
    name: name, dependencies: ["HaulKit"] + more, path: "Examples/\(name)", exclude: exclude,
    resources: resources, packageAccess: false, swiftSettings: settings)
}

/// A program for measurements and tests, which nobody installs.
func tool(_ name: String, _ dependencies: Target.Dependency...) -> Target {
  .executableTarget(
    name: name, dependencies: dependencies, path: "Tools/\(name)", swiftSettings: settings)
}

/// For `make fuzz`: parsers that report where they have been, and the program that feeds them.
let isFuzzing = Context.environment["HAUL_FUZZ"] != nil
let fuzzing = ["-sanitize=fuzzer,address"]
let parsers = settings + (isFuzzing ? [.unsafeFlags(fuzzing)] : [])

/// The tested version only, if HAUL_TESTED is set, as the launcher and `make` do. Users of the
/// library also get later compatible versions (decision 022).
func tested(_ url: String, _ version: Version) -> Package.Dependency {
  Context.environment["HAUL_TESTED"] == nil
    ? .package(url: url, from: version) : .package(url: url, exact: version)
}

let package = Package(
  name: "haul",
  platforms: [.macOS(.v15), .iOS(.v18)],
  products: [
    .library(name: "HaulKit", targets: ["HaulKit"]),
    .library(name: "HaulCache", targets: ["HaulCache"]),
    .library(name: "HaulStore", targets: ["HaulStore"]),
    .library(name: "HaulService", targets: ["HaulService"]),
    .library(name: "HaulClient", targets: ["HaulClient"]),
    .library(name: "HaulTesting", targets: ["HaulTesting"]),
    .executable(name: "haul", targets: ["haul"]),
  ],
  // Who needs the other products only writes `traits: []`, and SwiftPM fetches less.
  traits: [
    .trait(name: "Database", description: "HaulStore and HaulCache"),
    .trait(name: "Program", description: "the command, the daemon, and the tools of the tests"),
    .default(enabledTraits: ["Database", "Program"]),
  ],
  dependencies: [
    tested("https://github.com/apple/swift-argument-parser", "1.8.2"),
    tested("https://github.com/apple/swift-asn1", "1.7.4"),
    tested("https://github.com/apple/swift-certificates", "1.21.1"),
    tested("https://github.com/apple/swift-collections", "1.6.0"),
    tested("https://github.com/apple/swift-crypto", "4.5.2"),
    tested("https://github.com/apple/swift-http-structured-headers", "1.7.0"),
    tested("https://github.com/apple/swift-log", "1.16.2"),
    tested("https://github.com/apple/swift-metrics", "2.13.0"),
    tested("https://github.com/apple/swift-nio", "2.101.2"),
    tested("https://github.com/apple/swift-nio-extras", "1.35.2"),
    tested("https://github.com/apple/swift-nio-http2", "1.46.0"),
    tested("https://github.com/apple/swift-nio-ssl", "2.37.6"),
    tested("https://github.com/groue/GRDB.swift", "7.10.0"),
    tested("https://github.com/hummingbird-project/hummingbird", "2.28.1"),
    tested("https://github.com/swift-server/async-http-client", "1.37.0"),
    tested("https://github.com/swift-server/swift-service-lifecycle", "2.13.0"),
  ],
  targets: [
    .target(name: "CHaulSystem"),
    .target(name: "CHaulCoding", linkerSettings: [.linkedLibrary("z")]),
    .target(name: "CHaulPage", exclude: ["page"]),
    .target(name: "HaulLibC", swiftSettings: settings),
    .target(
      name: "HaulCore", dependencies: ["HaulLibC", .collections, .crypto, .structuredHeaders],
      swiftSettings: parsers),
    .target(
      name: "HaulHTTP",
      dependencies: [
        "HaulCore", "HaulLibC", "CHaulCoding", .asyncHTTPClient, .nioCore, .nioConcurrency,
        .nioHPACK, .nioHTTP1, .nioHTTP2, .nioPosix, .nioSSL, .nioTLS,
      ],
      swiftSettings: settings),
    .target(
      name: "HaulFiles",
      dependencies: ["HaulCore", "HaulLibC", "CHaulSystem", .crypto, .nioConcurrency, .nioPosix],
      swiftSettings: parsers),
    .target(
      name: "HaulKit",
      dependencies: [
        "HaulCore", "HaulHTTP", "HaulFiles", "HaulLibC", .crypto, .deque, .heap,
        .orderedCollections, .logging, .nioConcurrency, .nioPosix,
      ],
      swiftSettings: settings),
    .target(
      name: "HaulStore",
      dependencies: ["HaulKit", "HaulCore", "HaulFiles", "HaulLibC", .grdb, .nioConcurrency],
      swiftSettings: settings),
    .target(
      name: "HaulCache",
      dependencies: [
        "HaulKit", "HaulCore", "HaulFiles", "HaulHTTP", "HaulLibC", .grdb, .crypto, .deque,
        .logging, .nioConcurrency,
      ],
      swiftSettings: settings),
    .target(
      name: "HaulService", dependencies: ["HaulKit", .serviceLifecycle], swiftSettings: settings),
    .target(
      name: "HaulControl",
      dependencies: [
        "HaulKit", "HaulCore", "HaulFiles", "HaulLibC", .asyncHTTPClient, .coreMetrics, .crypto,
        .cryptoExtras, .nioConcurrency, .nioCore, .nioHTTP1,
      ],
      swiftSettings: settings),
    .target(
      name: "HaulClient", dependencies: ["HaulControl", "HaulKit", "HaulCore"],
      swiftSettings: settings),
    .target(
      name: "HaulDaemon",
      dependencies: [
        "CHaulPage", "CHaulSystem", "HaulControl", "HaulStore", "HaulKit", "HaulCore", "HaulFiles",
        "HaulHTTP", "HaulLibC", .asn1, .hummingbird, .coreMetrics, .crypto, .deque,
        .hummingbirdCore, .logging, .nioConcurrency, .nioCore, .nioHTTP1, .nioHTTPTypes, .nioPosix,
        .nioSSL, .serviceLifecycle, .x509,
      ],
      resources: [.embedInCode("openapi.yaml"), .embedInCode("events.json")],
      swiftSettings: settings),
    .target(
      name: "HaulCLI",
      dependencies: [
        "HaulCache", "HaulControl", "HaulKit", "HaulFiles", "HaulHTTP", "HaulCore", "HaulLibC",
        "CHaulSystem", .argumentParser, .crypto, .logging,
      ],
      swiftSettings: parsers),
    .executableTarget(
      name: "haul",
      dependencies: ["HaulCLI", "HaulControl", "HaulDaemon", "HaulKit", "HaulLibC", .logging],
      swiftSettings: settings),

    .target(
      name: "HaulTesting",
      dependencies: [
        "HaulKit", "HaulFiles", "HaulCore", "HaulLibC", .asn1, .crypto, .nioConcurrency, .nioCore,
        .nioHPACK, .nioHTTP1, .nioHTTP2, .nioPosix, .nioSSL, .nioTLS, .x509,
      ],
      swiftSettings: settings),
    tool("haul-faultserver", "HaulTesting", "HaulLibC", .argumentParser),
    tool("haul-drill", "HaulKit", "HaulStore", "HaulLibC", .argumentParser),
    tool("haul-cachebench", "HaulCache", "HaulCore"),
    tool("haul-cachekill", "HaulCache", "HaulCore", "HaulLibC"),
    tool("haul-storebench", "HaulKit", "HaulStore", "HaulCore", "HaulLibC", .argumentParser),

    example("DurableQueue", with: "HaulStore"), example("InstallChain"),
    example("LargeFile"), example("DownloadQueue"), example("MultiFileTransfer"),
    example("SlotMachine"),
    example(
      "AppGallery", with: "HaulCache", .hummingbird, .logging,
      exclude: ["README.md", "screenshot.png"],
      resources: [
        .embedInCode("apps.json"), .embedInCode("gallery.js"), .embedInCode("index.html"),
      ]),

    .testTarget(
      name: "HaulCoreTests", dependencies: ["HaulCore", "HaulTesting", .nioConcurrency],
      swiftSettings: settings),
    .testTarget(
      name: "HaulFilesTests",
      dependencies: ["HaulFiles", "HaulCore", "HaulLibC", "HaulTesting"],
      swiftSettings: settings),
    .testTarget(
      name: "HaulStoreTests",
      dependencies: ["HaulStore", "HaulKit", "HaulCore", "HaulLibC", "HaulTesting", .grdb],
      swiftSettings: settings),
    .testTarget(
      name: "HaulCacheTests",
      dependencies: [
        "HaulCache", "haul-cachekill", "HaulCore", "HaulFiles", "HaulKit", "HaulLibC",
        "HaulTesting", .nioConcurrency,
      ],
      swiftSettings: settings),
    .testTarget(
      name: "HaulTestingTests",
      dependencies: ["HaulTesting", .nioCore, .nioHTTP1, .nioPosix, .nioSSL],
      swiftSettings: settings),
    .testTarget(
      name: "HaulKitTests",
      dependencies: [
        "HaulKit", "HaulClient", "HaulCore", "HaulHTTP", "HaulFiles", "HaulLibC", "HaulStore",
        "HaulTesting", .nioConcurrency,
      ],
      swiftSettings: settings),
    .testTarget(
      name: "HaulServiceTests",
      dependencies: ["HaulService", "HaulKit", .logging, .serviceLifecycle],
      swiftSettings: settings),
    .testTarget(
      name: "HaulControlTests", dependencies: ["HaulControl", "HaulCore", "HaulTesting", .crypto],
      swiftSettings: settings),
    .testTarget(
      name: "HaulDaemonTests",
      dependencies: [
        "HaulDaemon", "HaulControl", "HaulCore", "HaulKit", "HaulTesting", .logging,
        .nioConcurrency, .nioCore, .nioEmbedded, .nioHTTP1, .nioHTTPTypes,
      ],
      swiftSettings: settings),
    .testTarget(
      name: "HaulCLITests",
      dependencies: [
        "HaulCLI", "HaulCache", "HaulClient", "HaulControl", "HaulCore", "HaulKit", "HaulLibC",
        "HaulStore", "HaulTesting", .crypto, .logging, .nioConcurrency,
      ],
      swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)

if isFuzzing {
  package.targets.append(
    .executableTarget(
      name: "haul-fuzz", dependencies: ["HaulCore", "HaulFiles", "HaulLibC", "HaulCLI"],
      path: "Fuzz",
      exclude: ["Seeds"],
      swiftSettings: settings + [.unsafeFlags(["-parse-as-library", "-sanitize=address"])],
      linkerSettings: [.unsafeFlags(fuzzing)]))
} else {
  // So that every build compiles it.
  package.targets.append(
    .target(
      name: "HaulFuzz", dependencies: ["HaulCore", "HaulFiles", "HaulLibC", "HaulCLI"],
      path: "Fuzz",
      exclude: ["Seeds"], swiftSettings: settings))
}
