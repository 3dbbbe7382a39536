#if !Database
  #error("HaulStore needs the trait Database: .package(…, traits: [\"Database\"])")
#endif
