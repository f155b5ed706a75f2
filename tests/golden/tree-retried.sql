BEGIN TRANSACTION;
CREATE TABLE events (
	id INTEGER NOT NULL, 
	t FLOAT NOT NULL, 
	type TEXT NOT NULL, 
	node TEXT NOT NULL, 
	data TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "events" VALUES(1099511627777,1.76000000008960247039e+09,'run_started','','{"worker":{"kind":"function","options":{"function":"golden_work:work"}},"sol":"model","sol_model":null,"luna_model":"local","base_url":null,"workspace":"{WORKSPACE}","assignment":{"goal":"build the hut of wood","context":"none","inputs":{"wood":"oak"},"constraints":[],"expected_output":{"description":"the hut"},"success_criteria":[{"text":"it stands"}],"stop_conditions":["a brick has no colour"]},"inputs":{},"result_file":null,"files":{"strategy":"{WORKSPACE}/golden.yaml"},"strategy":{"name":"golden","description":"The strategy of the golden runs, kept beside them so that no change of a shipped one touches them.","attempt":"first","max_depth":5,"arity":2,"splitter":"auto","dimensions":["unknown_a_unknown_b","discovery_execution","reproduction_fix","interface_implementation","data_logic","local_integration"],"patience":5,"monitors":{},"max_replans":2,"integrate":"sol","concurrency":4,"context_bytes":4096,"limits":{"timeout_s":null,"inactivity_s":null},"budget":{"calls":null,"tokens":null,"cost":null,"seconds":null,"per_call":{"tokens":null,"cost":null}},"rules":{"report":[{"condition":"SUCCESS","next":"validate"},{"condition":"STUCK","next":"split"},{"condition":"FAILED:premise","next":"replan"},{"condition":"FAILED","next":"split"}],"validation":[{"condition":"passed","next":"accept"},{"condition":"unchecked","next":"accept"},{"condition":"failed:parts","next":"attempt"},{"condition":"failed","next":"split"}],"children":[{"condition":"all(\"success\")","next":"integrate"},{"condition":"any(\"cancelled\")","next":"fail"},{"condition":"any(\"exhausted\")","next":"fail"},{"condition":"any(\"failed\")","next":"replan"},{"condition":"any(\"blocked\")","next":"fail"},{"condition":"all(\"skipped\")","next":"set_aside"},{"condition":"any(\"skipped\")","next":"integrate"}],"depth_limit":[{"condition":"remedy:redefine","next":"redefine"},{"condition":"remedy:ask","next":"ask"},{"condition":"remedy:give_up","next":"give_up"}]}},"file_strategy":{"name":"golden","description":"The strategy of the golden runs, kept beside them so that no change of a shipped one touches them.","attempt":"first","max_depth":5,"arity":2,"splitter":"auto","dimensions":["unknown_a_unknown_b","discovery_execution","reproduction_fix","interface_implementation","data_logic","local_integration"],"patience":5,"monitors":{},"max_replans":2,"integrate":"sol","concurrency":4,"context_bytes":4096,"limits":{"timeout_s":null,"inactivity_s":null},"budget":{"calls":null,"tokens":null,"cost":null,"seconds":null,"per_call":{"tokens":null,"cost":null}},"rules":{"report":[{"condition":"SUCCESS","next":"validate"},{"condition":"STUCK","next":"split"},{"condition":"FAILED:premise","next":"replan"},{"condition":"FAILED","next":"split"}],"validation":[{"condition":"passed","next":"accept"},{"condition":"unchecked","next":"accept"},{"condition":"failed:parts","next":"attempt"},{"condition":"failed","next":"split"}],"children":[{"condition":"all(\"success\")","next":"integrate"},{"condition":"any(\"cancelled\")","next":"fail"},{"condition":"any(\"exhausted\")","next":"fail"},{"condition":"any(\"failed\")","next":"replan"},{"condition":"any(\"blocked\")","next":"fail"},{"condition":"all(\"skipped\")","next":"set_aside"},{"condition":"any(\"skipped\")","next":"integrate"}],"depth_limit":[{"condition":"remedy:redefine","next":"redefine"},{"condition":"remedy:ask","next":"ask"},{"condition":"remedy:give_up","next":"give_up"}]}}}');
INSERT INTO "events" VALUES(1099511627778,1.76000000008960247039e+09,'created','','{"assignment":{"goal":"build the hut of wood","context":"none","inputs":{"wood":"oak"},"constraints":[],"expected_output":{"description":"the hut"},"success_criteria":[{"text":"it stands"}],"stop_conditions":["a brick has no colour"]}}');
INSERT INTO "events" VALUES(1099511627779,1.76000000008960247039e+09,'started','','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627780,1.76000000011542439464e+09,'progressed','','{"kind":"attempt","n":1,"usage":{"tokens":120,"cost":0.001},"event":{"type":"spent","usage":{"calls":0,"tokens":120,"cost":0.001,"reported":true}}}');
INSERT INTO "events" VALUES(1099511627781,1.76000000011542439464e+09,'reported','','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.010803,"report":{"blocker":"build the hut of wood is more than one thing","known":["there is wood"],"unknown":["how much of it"],"status":"STUCK","kind":"other"}}');
INSERT INTO "events" VALUES(1099511627782,1.76000000011542439464e+09,'stopped','','{"n":1}');
INSERT INTO "events" VALUES(1099511627783,1.76000000011542439464e+09,'analysed','','{"kind":"other","blocker":"build the hut of wood is more than one thing","unknown":["how much of it"]}');
INSERT INTO "events" VALUES(1099511627784,1.76000000011542439464e+09,'decided','','{"section":"report","rule":1,"kind":"label","condition":"STUCK","next":"split"}');
INSERT INTO "events" VALUES(1099511627785,1.76000000011542439464e+09,'started','','{"kind":"split","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627786,1.76000000011954641342e+09,'answer','','{"kind":"split","n":1,"answer":{"children":[{"goal":"cut the planks of the walls","claim":"simpler","success_criteria":[{"text":"done: cut the planks of the walls"}],"expected_output":null,"inputs":null,"worker":null},{"goal":"hang the door of the hut","claim":"simpler","success_criteria":[{"text":"done: hang the door of the hut"}],"expected_output":null,"inputs":null,"worker":null}],"sequential":false,"dimension":"data_logic","reason":"two things","how":"model"},"usage":{"calls":1},"seconds":8.2e-05}');
INSERT INTO "events" VALUES(1099511627787,1.76000000011954641342e+09,'split','','{"children":["0","1"],"goals":["cut the planks of the walls","hang the door of the hut"],"how":"model","dimension":"data_logic","sequential":false,"reason":"two things","because":"other"}');
INSERT INTO "events" VALUES(1099511627788,1.76000000011954641342e+09,'created','0','{"assignment":{"goal":"cut the planks of the walls","success_criteria":[{"text":"done: cut the planks of the walls"}],"expected_output":{"description":"The result of: cut the planks of the walls"}},"claim":"simpler"}');
INSERT INTO "events" VALUES(1099511627789,1.76000000011954641342e+09,'created','1','{"assignment":{"goal":"hang the door of the hut","success_criteria":[{"text":"done: hang the door of the hut"}],"expected_output":{"description":"The result of: hang the door of the hut"}},"claim":"simpler"}');
INSERT INTO "events" VALUES(1099511627790,1.76000000011954641342e+09,'started','0','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627791,1.76000000011954641342e+09,'started','1','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627792,1.76000000014246797564e+09,'progressed','0','{"kind":"attempt","n":1,"event":{"type":"said","text":"I am going to cut the planks of the walls."}}');
INSERT INTO "events" VALUES(1099511627793,1.76000000014246797564e+09,'progressed','0','{"kind":"attempt","n":1,"event":{"type":"action","name":"saw","arguments":{"what":"cut the planks of the walls"},"observation":"it fits","error":false,"paths":["wood.txt"]}}');
INSERT INTO "events" VALUES(1099511627794,1.76000000014246797564e+09,'progressed','0','{"kind":"attempt","n":1,"event":{"type":"partial","key":"half","value":{"of":"cut the planks of the walls","again":false}}}');
INSERT INTO "events" VALUES(1099511627795,1.76000000014246797564e+09,'progressed','0','{"kind":"attempt","n":1,"usage":{"tokens":300,"cost":0.002},"event":{"type":"spent","usage":{"calls":0,"tokens":300,"cost":0.002,"reported":true}}}');
INSERT INTO "events" VALUES(1099511627796,1.76000000014246797564e+09,'reported','0','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.017255,"report":{"summary":"done","result":{"did":"cut the planks of the walls","answer":""},"evidence":["seen"],"status":"SUCCESS"}}');
INSERT INTO "events" VALUES(1099511627797,1.76000000014246797564e+09,'decided','0','{"section":"report","rule":0,"kind":"label","condition":"SUCCESS","next":"validate"}');
INSERT INTO "events" VALUES(1099511627798,1.76000000014246797564e+09,'checked','0','{"kind":"check","n":0,"results":[{"criterion":"done: cut the planks of the walls","kind":"text","ok":null,"detail":""}]}');
INSERT INTO "events" VALUES(1099511627799,1.76000000014246797564e+09,'progressed','1','{"kind":"attempt","n":1,"event":{"type":"said","text":"I am going to hang the door of the hut."}}');
INSERT INTO "events" VALUES(1099511627800,1.76000000014246797564e+09,'progressed','1','{"kind":"attempt","n":1,"event":{"type":"action","name":"saw","arguments":{"what":"hang the door of the hut"},"observation":"it fits","error":false,"paths":["wood.txt"]}}');
INSERT INTO "events" VALUES(1099511627801,1.76000000014246797564e+09,'progressed','1','{"kind":"attempt","n":1,"event":{"type":"partial","key":"half","value":{"of":"hang the door of the hut","again":false}}}');
INSERT INTO "events" VALUES(1099511627802,1.76000000014246797564e+09,'progressed','1','{"kind":"attempt","n":1,"usage":{"tokens":300,"cost":0.002},"event":{"type":"spent","usage":{"calls":0,"tokens":300,"cost":0.002,"reported":true}}}');
INSERT INTO "events" VALUES(1099511627803,1.76000000014246797564e+09,'started','0','{"kind":"judge","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627804,1.76000000014722299572e+09,'reported','1','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.017883,"report":{"kind":"exit","reason":"the wood is wet","status":"FAILED"}}');
INSERT INTO "events" VALUES(1099511627805,1.76000000014722299572e+09,'stopped','1','{"n":1}');
INSERT INTO "events" VALUES(1099511627806,1.76000000014722299572e+09,'analysed','1','{"kind":"exit","blocker":"the wood is wet"}');
INSERT INTO "events" VALUES(1099511627807,1.76000000014722299572e+09,'decided','1','{"section":"report","rule":3,"kind":"label","condition":"FAILED","next":"split"}');
INSERT INTO "events" VALUES(1099511627808,1.76000000014722299572e+09,'answer','0','{"kind":"judge","n":1,"answer":{"verdicts":[{"holds":true,"reason":"seen"}]},"usage":{"calls":1},"seconds":8.6e-05}');
INSERT INTO "events" VALUES(1099511627809,1.76000000014722299572e+09,'decided','0','{"section":"validation","rule":0,"kind":"label","condition":"passed","next":"accept"}');
INSERT INTO "events" VALUES(1099511627810,1.76000000014722299572e+09,'settled','0','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627811,1.76000000014722299572e+09,'started','1','{"kind":"split","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627812,1.76000000015173625952e+09,'answer','1','{"kind":"split","n":1,"answer":{"cannot":"one piece"},"usage":{"calls":1},"seconds":6.1e-05}');
INSERT INTO "events" VALUES(1099511627813,1.76000000015173625952e+09,'started','1','{"kind":"reassess","n":1,"because":{"trigger":"unsplittable"},"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627814,1.76000000015595817561e+09,'answer','1','{"kind":"reassess","n":1,"answer":{"finding":"wrong_dimension","remedy":"give_up","reason":"as it is","goal":"","information":"","question":""},"usage":{"calls":1},"seconds":7.3e-05}');
INSERT INTO "events" VALUES(1099511627815,1.76000000015595817561e+09,'decided','1','{"section":"depth_limit","rule":2,"kind":"label","condition":"remedy:give_up","next":"give_up"}');
INSERT INTO "events" VALUES(1099511627816,1.76000000015595817561e+09,'settled','1','{"state":"failed","kind":"unsplittable","reason":"the wood is wet. Reassessed as wrong_dimension: as it is"}');
INSERT INTO "events" VALUES(1099511627817,1.76000000015595817561e+09,'decided','','{"section":"children","rule":3,"kind":"aggregate","condition":"any(\"failed\")","next":"replan","read":{"children":[["0","success"],["1","failed"]]}}');
INSERT INTO "events" VALUES(1099511627818,1.76000000015595817561e+09,'started','','{"kind":"split","n":2,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627819,1.76000000015991854671e+09,'answer','','{"kind":"split","n":2,"answer":{"children":[{"goal":"cut the planks of the walls","claim":"simpler","success_criteria":[{"text":"done: cut the planks of the walls"}],"expected_output":null,"inputs":null,"worker":null},{"goal":"hang the door of the hut","claim":"simpler","success_criteria":[{"text":"done: hang the door of the hut"}],"expected_output":null,"inputs":null,"worker":null}],"sequential":false,"dimension":"data_logic","reason":"two things","how":"model"},"usage":{"calls":1},"seconds":7.2e-05}');
INSERT INTO "events" VALUES(1099511627820,1.76000000015991854671e+09,'refused','','{"what":"split","kind":"no_progress_split","reason":"the same children were tried or refused before","goals":["cut the planks of the walls","hang the door of the hut"]}');
INSERT INTO "events" VALUES(1099511627821,1.76000000015991854671e+09,'started','','{"kind":"split","n":3,"because":{"new":"constraint","refused":"the same children were tried or refused before"},"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627822,1.76000000016381740568e+09,'answer','','{"kind":"split","n":3,"answer":{"children":[{"goal":"cut the planks of the walls","claim":"simpler","success_criteria":[{"text":"done: cut the planks of the walls"}],"expected_output":null,"inputs":null,"worker":null},{"goal":"hang the door of the hut","claim":"simpler","success_criteria":[{"text":"done: hang the door of the hut"}],"expected_output":null,"inputs":null,"worker":null}],"sequential":false,"dimension":"data_logic","reason":"two things","how":"model"},"usage":{"calls":1},"seconds":0.00014}');
INSERT INTO "events" VALUES(1099511627823,1.76000000016381740568e+09,'refused','','{"what":"split","kind":"no_progress_split","reason":"the same children were tried or refused before","goals":["cut the planks of the walls","hang the door of the hut"]}');
INSERT INTO "events" VALUES(1099511627824,1.76000000016381740568e+09,'settled','','{"state":"failed","kind":"no_progress_split","reason":"Two proposed splits were refused; the last because the same children were tried or refused before."}');
INSERT INTO "events" VALUES(1099511627825,1.76000000016381740568e+09,'run_status','','{"status":"failed"}');
INSERT INTO "events" VALUES(1099511627826,1.76000000018497705462e+09,'retry_requested','1','{"note":"There is dry wood in the barn.","by":"a person","at":1760000000.184977}');
INSERT INTO "events" VALUES(1099511627827,1.76000000018497705462e+09,'reopened','','{"state":"split"}');
INSERT INTO "events" VALUES(1099511627828,1.76000000018497705462e+09,'reopened','1','{"state":"pending","redo":"attempt","was":"","note":"There is dry wood in the barn."}');
INSERT INTO "events" VALUES(1099511627829,1.76000000018497705462e+09,'queued','1','{"kind":"attempt","n":2,"because":{"new":"information"}}');
INSERT INTO "events" VALUES(1099511627830,1.76000000018497705462e+09,'run_status','','{"status":"interrupted"}');
INSERT INTO "events" VALUES(1099511627831,1.76000000036465263373e+09,'resumed','','{"changed_inputs":[],"strategy":{"name":"golden","description":"The strategy of the golden runs, kept beside them so that no change of a shipped one touches them.","attempt":"first","max_depth":5,"arity":2,"splitter":"auto","dimensions":["unknown_a_unknown_b","discovery_execution","reproduction_fix","interface_implementation","data_logic","local_integration"],"patience":5,"monitors":{},"max_replans":2,"integrate":"sol","concurrency":4,"context_bytes":4096,"limits":{"timeout_s":null,"inactivity_s":null},"budget":{"calls":null,"tokens":null,"cost":null,"seconds":null,"per_call":{"tokens":null,"cost":null}},"rules":{"report":[{"condition":"SUCCESS","next":"validate"},{"condition":"STUCK","next":"split"},{"condition":"FAILED:premise","next":"replan"},{"condition":"FAILED","next":"split"}],"validation":[{"condition":"passed","next":"accept"},{"condition":"unchecked","next":"accept"},{"condition":"failed:parts","next":"attempt"},{"condition":"failed","next":"split"}],"children":[{"condition":"all(\"success\")","next":"integrate"},{"condition":"any(\"cancelled\")","next":"fail"},{"condition":"any(\"exhausted\")","next":"fail"},{"condition":"any(\"failed\")","next":"replan"},{"condition":"any(\"blocked\")","next":"fail"},{"condition":"all(\"skipped\")","next":"set_aside"},{"condition":"any(\"skipped\")","next":"integrate"}],"depth_limit":[{"condition":"remedy:redefine","next":"redefine"},{"condition":"remedy:ask","next":"ask"},{"condition":"remedy:give_up","next":"give_up"}]}}}');
INSERT INTO "events" VALUES(1099511627832,1.76000000036465263373e+09,'started','1','{"kind":"attempt","n":2,"because":{"new":"information"},"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627833,1.76000000041136026385e+09,'progressed','1','{"kind":"attempt","n":2,"event":{"type":"said","text":"I am going to hang the door of the hut."}}');
INSERT INTO "events" VALUES(1099511627834,1.76000000041136026385e+09,'progressed','1','{"kind":"attempt","n":2,"event":{"type":"action","name":"saw","arguments":{"what":"hang the door of the hut"},"observation":"it fits","error":false,"paths":["wood.txt"]}}');
INSERT INTO "events" VALUES(1099511627835,1.76000000041136026385e+09,'progressed','1','{"kind":"attempt","n":2,"event":{"type":"partial","key":"half","value":{"of":"hang the door of the hut","again":true}}}');
INSERT INTO "events" VALUES(1099511627836,1.76000000041136026385e+09,'progressed','1','{"kind":"attempt","n":2,"usage":{"tokens":300,"cost":0.002},"event":{"type":"spent","usage":{"calls":0,"tokens":300,"cost":0.002,"reported":true}}}');
INSERT INTO "events" VALUES(1099511627837,1.76000000041136026385e+09,'reported','1','{"kind":"attempt","n":2,"usage":{"calls":1},"seconds":0.011125,"report":{"summary":"done","result":{"did":"hang the door of the hut","answer":""},"evidence":["seen"],"status":"SUCCESS"}}');
INSERT INTO "events" VALUES(1099511627838,1.76000000041136026385e+09,'decided','1','{"section":"report","rule":0,"kind":"label","condition":"SUCCESS","next":"validate"}');
INSERT INTO "events" VALUES(1099511627839,1.76000000041136026385e+09,'checked','1','{"kind":"check","n":0,"results":[{"criterion":"done: hang the door of the hut","kind":"text","ok":null,"detail":""}]}');
INSERT INTO "events" VALUES(1099511627840,1.76000000041136026385e+09,'started','1','{"kind":"judge","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627841,1.76000000042478275301e+09,'answer','1','{"kind":"judge","n":1,"answer":{"verdicts":[{"holds":true,"reason":"seen"}]},"usage":{"calls":1},"seconds":0.000101}');
INSERT INTO "events" VALUES(1099511627842,1.76000000042478275301e+09,'decided','1','{"section":"validation","rule":0,"kind":"label","condition":"passed","next":"accept"}');
INSERT INTO "events" VALUES(1099511627843,1.76000000042478275301e+09,'settled','1','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627844,1.76000000042478275301e+09,'decided','','{"section":"children","rule":0,"kind":"aggregate","condition":"all(\"success\")","next":"integrate","read":{"children":[["0","success"],["1","success"]]}}');
INSERT INTO "events" VALUES(1099511627845,1.76000000042478275301e+09,'started','','{"kind":"integrate","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627846,1.76000000043662548068e+09,'answer','','{"kind":"integrate","n":1,"answer":{"result":{"0":{"did":"cut the planks of the walls","answer":""},"1":{"did":"hang the door of the hut","answer":""}},"summary":"put together","checks":{"no_contradiction":{"ok":true,"note":"about no_contradiction"},"interfaces_agree":{"ok":true,"note":"about interfaces_agree"},"goal_met":{"ok":true,"note":"about goal_met"},"nothing_open":{"ok":true,"note":"about nothing_open"},"parts_imply_whole":{"ok":true,"note":"about parts_imply_whole"}},"open":[]},"usage":{"calls":1},"seconds":9.2e-05}');
INSERT INTO "events" VALUES(1099511627847,1.76000000043662548068e+09,'checked','','{"kind":"check","n":0,"results":[{"criterion":"it stands","kind":"text","ok":null,"detail":""}]}');
INSERT INTO "events" VALUES(1099511627848,1.76000000043662548068e+09,'started','','{"kind":"judge","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627849,1.76000000044836902614e+09,'answer','','{"kind":"judge","n":1,"answer":{"verdicts":[{"holds":true,"reason":"seen"}]},"usage":{"calls":1},"seconds":8.5e-05}');
INSERT INTO "events" VALUES(1099511627850,1.76000000044836902614e+09,'decided','','{"section":"validation","rule":0,"kind":"label","condition":"passed","next":"accept"}');
INSERT INTO "events" VALUES(1099511627851,1.76000000044836902614e+09,'settled','','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627852,1.76000000044836902614e+09,'run_status','','{"status":"success"}');
CREATE TABLE requests (
	id INTEGER NOT NULL, 
	run INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	payload TEXT NOT NULL, 
	t FLOAT NOT NULL, 
	"by" TEXT NOT NULL, 
	taken INTEGER, 
	PRIMARY KEY (id), 
	FOREIGN KEY(run) REFERENCES runs (no)
);
CREATE TABLE runs (
	no INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	created_t FLOAT NOT NULL, 
	title TEXT NOT NULL, 
	meta TEXT NOT NULL, 
	status TEXT NOT NULL, 
	summary TEXT, 
	seq INTEGER NOT NULL, 
	updated_t FLOAT NOT NULL, 
	epoch INTEGER NOT NULL, 
	host TEXT, 
	pid INTEGER, 
	started FLOAT, 
	token TEXT, 
	claimed_t FLOAT, 
	beat_t FLOAT, 
	PRIMARY KEY (no), 
	UNIQUE (id)
);
INSERT INTO "runs" VALUES(1,'q8n5vq',1.76000000002648472781e+09,'build the hut of wood','{}','success','{"nodes":3,"calls":13,"tokens":1020,"cost":0.007,"elapsed_s":0.173}',76,1.76000000044836902614e+09,3,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE sol_journal (
	version INTEGER NOT NULL
);
INSERT INTO "sol_journal" VALUES(1);
CREATE INDEX requests_waiting ON requests (run) WHERE taken IS NULL;
COMMIT;
